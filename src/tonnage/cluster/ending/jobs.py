"""When a Job gives up: which pod endings count, and which rule ends it first.

A failed pod counts against `backoffLimit` unless a failure policy ignores it. With `restartPolicy: Never`
the Job fails when **more** pods failed than the limit; with `OnFailure` when restarts **reach** it, and the
last restart is cut short. Without a policy every disruption counts too: six preemptions, and the seventh
ends a default Job. A pod that is being deleted counts as failed at once, unless replacement waits for it
(`podReplacementPolicy: Failed`, forced by a policy).

Read in `pkg/controller/job` (`job_controller.go`, `pod_failure_policy.go`, `backoff_utils.go`,
`indexed_job_utils.go`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from tonnage.cluster.messages.job import (
    TEXT_OF,
    ConditionMatched,
    Ending,
    ExitCodeMatched,
    format_policy_match,
    format_success_rule,
)
from tonnage.cluster.objects import ContainerStatus, Job, Pod

DEFAULT_BACKOFF_LIMIT = 6
UNLIMITED = 2**31 - 1
FIRST_DELAY_SECONDS = 10
MAX_DELAY_SECONDS = 600
TRACKING_FINALIZER = "batch.kubernetes.io/job-tracking"
INDEX_ANNOTATION = "batch.kubernetes.io/job-completion-index"
INDEX_FAILURES_ANNOTATION = "batch.kubernetes.io/job-index-failure-count"


class PolicyVerdict(msgspec.Struct, frozen=True):
    """What the failure policy makes of one failed pod."""

    action: str | None
    """FailJob, FailIndex, Ignore or Count; None when no rule matched."""
    counts: bool
    message: str | None = None
    """The Job's last words; only with FailJob."""


class Counts(msgspec.Struct, frozen=True):
    """What a Job's status counts; an indexed Job counts the indexes that succeeded, not the pods."""

    failed: int
    succeeded: int


class Verdict(msgspec.Struct, frozen=True):
    """How the Job ends: the terminal condition, its reason and its text."""

    condition: str
    ending: Ending
    message: str

    @property
    def interim(self) -> str:
        """The condition that announces it while pods are still going away."""
        return "FailureTarget" if self.condition == "Failed" else "SuccessCriteriaMet"


def backoff_limit(job: Job) -> int:
    """The limit in force; per-index limits lift the overall one."""
    if job.spec.backoff_limit is not None:
        return job.spec.backoff_limit
    return UNLIMITED if job.spec.backoff_limit_per_index is not None else DEFAULT_BACKOFF_LIMIT


def replaces_only_failed(job: Job) -> bool:
    """Whether a replacement waits until the old pod is really gone."""
    if job.spec.pod_replacement_policy is not None:
        return job.spec.pod_replacement_policy == "Failed"
    return job.spec.pod_failure_policy is not None


def is_failed(job: Job, pod: Pod) -> bool:
    """Whether the Job controller sees the pod as failed (a pod being deleted may be, before it ends)."""
    if pod.status.phase == "Failed":
        return True
    if replaces_only_failed(job):
        return False
    return pod.metadata.deletion_timestamp is not None and pod.status.phase != "Succeeded"


def counts_against_backoff_limit(job: Job, pod: Pod) -> bool:
    """Whether this pod's end uses up one of the Job's attempts."""
    return is_failed(job, pod) and apply_failure_policy(job, pod).counts


def apply_failure_policy(job: Job, pod: Pod) -> PolicyVerdict:
    """The first rule that matches decides; without a match the failure counts."""
    policy: Mapping[str, Any] = job.spec.pod_failure_policy or {}
    for index, rule in enumerate(policy.get("rules", ())):
        action = rule["action"]
        if (codes := rule.get("onExitCodes")) is not None:
            status = _matching_container(pod, codes)
            if status is not None and status.state.terminated is not None:
                code = status.state.terminated.exit_code
                return _policy_verdict(action, ExitCodeMatched(status.name, _key(pod), code, action, index))
        elif (patterns := rule.get("onPodConditions")) is not None:
            condition = _matching_condition(pod, patterns)
            if condition is not None:
                return _policy_verdict(action, ConditionMatched(_key(pod), condition, action, index))
    return PolicyVerdict(None, counts=True)


def retry_delay_seconds(failures: int) -> int:
    """The wait after that many failures since the last success: 10 s doubling to ten minutes."""
    if failures <= 0:
        return 0
    return min(FIRST_DELAY_SECONDS << min(failures - 1, 16), MAX_DELAY_SECONDS)


def verdict(job: Job, pods: Sequence[Pod], *, active_seconds: float = 0.0) -> Verdict | None:
    """How the Job ends with these pods; None while it goes on.

    Pods that still carry the tracking finalizer are not in `status` yet and are added to its counts.
    """
    new = _uncounted(pods)
    return (
        _failure_policy_verdict(job, pods)
        or _limit_verdict(job, pods, new, active_seconds)
        or _index_verdict(job, new)
        or _success_policy_verdict(job, new)
        or _completion_verdict(job, pods, new)
    )


def status_counts(job: Job, pods: Sequence[Pod], *, active_seconds: float = 0.0) -> Counts:
    """The status once these pods are counted.

    When the Job has failed, its pods that have not ended count as failed too: they are being taken away.
    """
    found = verdict(job, pods, active_seconds=active_seconds)
    given_up = found is not None and found.condition == "Failed"
    failed = sum(
        (is_failed(job, pod) or (given_up and pod.status.phase != "Succeeded"))
        and apply_failure_policy(job, pod).counts
        for pod in _uncounted(pods)
        if job.spec.completion_mode != "Indexed" or completion_index(pod) in range(job.spec.completions or 0)
    )
    return Counts(job.status.failed + failed, _succeeded(job, _uncounted(pods)))


def most_attempts(job: Job) -> int | None:
    """How many pods may fail, the last one included, before the Job does; None where restarts decide."""
    if job.spec.template.spec.restart_policy == "OnFailure":
        return None
    return backoff_limit(job) + 1


def restarts(pods: Iterable[Pod]) -> int:
    """Restarts that count with `OnFailure`: of pods still pending or running."""
    return sum(
        status.restart_count
        for pod in pods
        if pod.status.phase in {"Running", "Pending"}
        for status in (*pod.status.init_container_statuses, *pod.status.container_statuses)
    )


def parse_indexes(text: str, completions: int) -> frozenset[int]:
    """`1,3-5` as a set, cut at completions."""
    found: set[int] = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        found.update(range(int(first), min(int(last or first), completions - 1) + 1))
    return frozenset(found)


def completion_index(pod: Pod) -> int | None:
    """The pod's place in an indexed Job."""
    text = pod.metadata.annotations.get(INDEX_ANNOTATION, "")
    return int(text) if text.isascii() and text.isdigit() else None


def index_failed(job: Job, pod: Pod) -> bool:
    """Whether this pod's failure was the last its index may have."""
    limit = job.spec.backoff_limit_per_index
    if limit is None or not is_failed(job, pod):
        return False
    outcome = apply_failure_policy(job, pod)
    if outcome.action == "FailIndex":
        return True
    earlier = pod.metadata.annotations.get(INDEX_FAILURES_ANNOTATION, "0")
    return outcome.counts and (int(earlier) if earlier.isascii() and earlier.isdigit() else 0) >= limit


def _failure_policy_verdict(job: Job, pods: Iterable[Pod]) -> Verdict | None:
    for pod in pods:
        if is_failed(job, pod) and (message := apply_failure_policy(job, pod).message) is not None:
            return Verdict("Failed", Ending.FAILURE_POLICY, message)
    return None


def _limit_verdict(
    job: Job, pods: Iterable[Pod], new: Iterable[Pod], active_seconds: float
) -> Verdict | None:
    failed = job.status.failed + sum(counts_against_backoff_limit(job, pod) for pod in new)
    if failed > backoff_limit(job) or _restarted_too_often(job, pods):
        return _plain(Ending.BACKOFF_LIMIT)
    deadline = job.spec.active_deadline_seconds
    if deadline is not None and not job.spec.suspend and active_seconds >= deadline:
        return _plain(Ending.DEADLINE)
    return None


def _restarted_too_often(job: Job, pods: Iterable[Pod]) -> bool:
    if job.spec.template.spec.restart_policy != "OnFailure":
        return False
    limit = backoff_limit(job)
    return restarts(pods) >= max(limit, 1)


def _index_verdict(job: Job, new: Sequence[Pod]) -> Verdict | None:
    if job.spec.completion_mode != "Indexed" or job.spec.backoff_limit_per_index is None:
        return None
    completions = job.spec.completions or 0
    failed = set(parse_indexes(job.status.failed_indexes or "", completions))
    failed |= {i for pod in new if index_failed(job, pod) and (i := completion_index(pod)) is not None}
    most = job.spec.max_failed_indexes
    if most is not None and len(failed) > most:
        return _plain(Ending.TOO_MANY_FAILED_INDEXES)
    if failed and len(failed) + len(_succeeded_indexes(job, new)) >= completions:
        return _plain(Ending.FAILED_INDEXES)
    return None


def _success_policy_verdict(job: Job, new: Sequence[Pod]) -> Verdict | None:
    policy: Mapping[str, Any] = job.spec.success_policy or {}
    done = _succeeded_indexes(job, new)
    if not done:
        return None
    for number, rule in enumerate(policy.get("rules", ())):
        wanted, count = rule.get("succeededIndexes"), rule.get("succeededCount")
        if wanted is not None:
            needed = parse_indexes(wanted, job.spec.completions or 0)
            met = bool(needed) and (needed <= done or (count is not None and len(needed & done) >= count))
        else:
            met = count is not None and len(done) >= count
        if met:
            return Verdict("Complete", Ending.SUCCESS_POLICY, format_success_rule(number))
    return None


def _completion_verdict(job: Job, pods: Iterable[Pod], new: Sequence[Pod]) -> Verdict | None:
    active = any(
        pod.status.phase not in {"Succeeded", "Failed"} and pod.metadata.deletion_timestamp is None
        for pod in pods
    )
    if _succeeded(job, new) >= (job.spec.completions or 1) and not active:
        return _plain(Ending.COMPLETIONS)
    return None


def _uncounted(pods: Iterable[Pod]) -> list[Pod]:
    return [pod for pod in pods if TRACKING_FINALIZER in pod.metadata.finalizers]


def _succeeded(job: Job, new: Iterable[Pod]) -> int:
    if job.spec.completion_mode == "Indexed":
        return len(_succeeded_indexes(job, new))
    return job.status.succeeded + sum(pod.status.phase == "Succeeded" for pod in new)


def _succeeded_indexes(job: Job, new: Iterable[Pod]) -> frozenset[int]:
    """Indexes that are done; those beyond `completions` (a Job made smaller) are not counted."""
    completions = job.spec.completions or 0
    before = parse_indexes(job.status.completed_indexes, completions)
    now = {completion_index(pod) for pod in new if pod.status.phase == "Succeeded"}
    return before | frozenset(index for index in now if index is not None and index < completions)


def _matching_container(pod: Pod, requirement: Mapping[str, Any]) -> ContainerStatus | None:
    """The first ended container, init containers last, whose non-zero code the rule names."""
    name, values = requirement.get("containerName"), requirement.get("values", ())
    for status in (*pod.status.container_statuses, *pod.status.init_container_statuses):
        ended = status.state.terminated
        if ended is None or ended.exit_code == 0 or name not in {None, status.name}:
            continue
        if (ended.exit_code in values) == (requirement.get("operator") == "In"):
            return status
    return None


def _matching_condition(pod: Pod, patterns: Iterable[Mapping[str, Any]]) -> str | None:
    wanted = {(pattern["type"], pattern.get("status", "True")) for pattern in patterns}
    return next((c.type for c in pod.status.conditions if (c.type, c.status) in wanted), None)


def _policy_verdict(action: str, match: ExitCodeMatched | ConditionMatched) -> PolicyVerdict:
    message = format_policy_match(match) if action == "FailJob" else None
    return PolicyVerdict(action, counts=action != "Ignore", message=message)


def _plain(ending: Ending) -> Verdict:
    complete = ending is Ending.COMPLETIONS
    return Verdict("Complete" if complete else "Failed", ending, TEXT_OF[ending])


def _key(pod: Pod) -> str:
    return f"{pod.metadata.namespace}/{pod.metadata.name}"
