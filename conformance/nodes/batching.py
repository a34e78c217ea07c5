"""Jobs: which endings count, and which rule ends the Job, asked of the real controller and real containers.

The prediction is made from the pods as they really ended, with their names, so that texts can be compared
in full; and from the manifest alone for how many there are and how long the controller waited between them.
"""

from __future__ import annotations

import datetime as dt
import time
from itertools import pairwise
from typing import Any

import msgspec
from msgspec.structs import asdict

from conformance.nodes.bench import Bench, is_running
from conformance.nodes.case import Facts, Outcome, caused
from conformance.nodes.manifests import Json, a_job, endless_memory, python, shell
from tonnage.cluster.ending.jobs import (
    TRACKING_FINALIZER,
    most_attempts,
    retry_delay_seconds,
    status_counts,
    verdict,
)
from tonnage.cluster.messages.disruption import Disruption, disruption_condition
from tonnage.cluster.messages.job import TEXT_OF, Ending
from tonnage.cluster.objects import Job, Pod

_INDEX_FAILS = 'test "$JOB_COMPLETION_INDEX" != 1'


def _facts(job: Job) -> Facts:
    """How the Job ended: the terminal condition and the one that announced it."""
    found = {c.type: f"{c.reason}: {c.message}" for c in job.status.conditions if c.status == "True"}
    return {"conditions": found, "failed": job.status.failed, "succeeded": job.status.succeeded}


def _predicted(manifest: Json, pods: list[Pod], *, active_seconds: float = 0.0) -> Facts:
    """What our rules make of these pods, all of them still to be counted."""
    job = msgspec.convert(manifest, Job)
    uncounted = [
        msgspec.structs.replace(
            pod, metadata=msgspec.structs.replace(pod.metadata, finalizers=(TRACKING_FINALIZER,))
        )
        for pod in sorted(pods, key=lambda pod: pod.metadata.creation_timestamp or "")
    ]
    found = verdict(job, uncounted, active_seconds=active_seconds)
    counts = asdict(status_counts(job, uncounted, active_seconds=active_seconds))
    if found is None:
        return {"conditions": {}, **counts}
    text = f"{found.ending.value}: {found.message}"
    return {"conditions": {found.interim: text, found.condition: text}, **counts}


def _ended(bench: Bench, manifest: Json) -> Outcome:
    job, pods = bench.job(manifest)
    return Outcome(predicted=_predicted(manifest, pods), real=_facts(job))


def _policy(*rules: Json) -> Json:
    return {"rules": list(rules)}


def _on_codes(action: str, *values: int) -> Json:
    return {"action": action, "onExitCodes": {"operator": "In", "values": list(values)}}


def _first_time(what: str) -> str:
    """Shell that does this once, and succeeds every later time."""
    return f"test -e /keep/seen && exit 0; touch /keep/seen; {what}"


_IGNORE_DISRUPTION: Json = {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}


@caused("a Job with Never and backoffLimit 1", "BackoffLimitExceeded with Never", "retry delay", seconds=25)
def never(bench: Bench) -> Outcome:
    manifest = a_job("job-never", bench.node_name, shell("c", "exit 1"), backoffLimit=1)
    job, pods = bench.job(manifest)
    waited = _gaps(pods)
    predicted = _predicted(manifest, pods)
    predicted |= {
        "pods": most_attempts(msgspec.convert(manifest, Job)),
        "waited at least": retry_delay_seconds(1),
    }
    # Creation times are whole seconds.
    shortest = int(min(waited, default=0.0)) + 1
    real = _facts(job) | {"pods": len(pods), "waited at least": min(shortest, retry_delay_seconds(1))}
    return Outcome(predicted=predicted, real=real)


def _gaps(pods: list[Pod]) -> list[float]:
    """Seconds from each pod's end to the next pod's creation."""
    ordered = sorted(pods, key=lambda pod: pod.metadata.creation_timestamp or "")
    found = []
    for before, after in pairwise(ordered):
        end = before.status.container_statuses[0].state.terminated
        if end is not None and end.finished_at and after.metadata.creation_timestamp:
            found.append((_time(after.metadata.creation_timestamp) - _time(end.finished_at)).total_seconds())
    return found


def _time(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text.replace("Z", "+00:00"))


@caused("a Job with OnFailure and backoffLimit 1", "BackoffLimitExceeded with OnFailure", seconds=20)
def on_failure(bench: Bench) -> Outcome:
    manifest = a_job(
        "job-on-failure", bench.node_name, shell("c", "exit 1"), backoffLimit=1, restart_policy="OnFailure"
    )
    job, pods = bench.job(manifest)
    # The pod is deleted when its first restart reaches the limit: only the Job remains to tell.
    restarted = msgspec.convert(
        {
            "metadata": {"finalizers": [TRACKING_FINALIZER]},
            "status": {"phase": "Running", "containerStatuses": [{"name": "c", "restartCount": 1}]},
        },
        Pod,
    )
    return Outcome(
        predicted=_predicted(manifest, [restarted])["conditions"] | {"pods left": 0},
        real=_facts(job)["conditions"] | {"pods left": len([p for p in pods if not _is_going(p)])},
    )


def _is_going(pod: Pod) -> bool:
    return pod.metadata.deletion_timestamp is not None or pod.status.phase in {"Failed", "Succeeded"}


@caused("a Job whose pod is killed for its memory", "an OOM kill counts", seconds=10)
def oom_counts(bench: Bench) -> Outcome:
    container = python("c", endless_memory(), limits={"memory": "48Mi"})
    return _ended(bench, a_job("job-oom", bench.node_name, container, backoffLimit=0))


@caused("FailJob on an exit code", "PodFailurePolicy: FailJob on exit code", seconds=10)
def fail_job(bench: Bench) -> Outcome:
    policy = _policy(_IGNORE_DISRUPTION, _on_codes("FailJob", 42))
    manifest = a_job(
        "job-fail-job", bench.node_name, shell("c", "exit 42"), backoffLimit=5, podFailurePolicy=policy
    )
    return _ended(bench, manifest)


@caused("Count on an exit code, before a FailJob", "PodFailurePolicy: Count", seconds=10)
def count(bench: Bench) -> Outcome:
    policy = _policy(_on_codes("Count", 3), _on_codes("FailJob", 3))
    manifest = a_job(
        "job-count", bench.node_name, shell("c", "exit 3"), backoffLimit=0, podFailurePolicy=policy
    )
    return _ended(bench, manifest)


@caused("Ignore on an exit code, then success", "PodFailurePolicy: Ignore on exit code", seconds=25)
def ignore(bench: Bench) -> Outcome:
    name = f"job-ignore-{bench.namespace}"
    container = shell("c", _first_time("exit 3"))
    policy = _policy(_on_codes("Ignore", 3))
    manifest = a_job(name, bench.node_name, container, backoffLimit=0, podFailurePolicy=policy)
    job, pods = bench.job(manifest)
    predicted = _predicted(manifest, pods) | {"tried again": True}
    return Outcome(predicted=predicted, real=_facts(job) | {"tried again": len(pods) > 1})


def _disrupted(bench: Bench, name: str, **spec: Any) -> Outcome:
    """A Job whose first pod is evicted through the API; a second one, if there is one, succeeds."""
    manifest = a_job(name, bench.node_name, shell("c", _first_time("sleep 3600")), backoffLimit=0, **spec)
    bench.must(bench.api.create(bench.jobs, manifest))
    for _ in range(60):
        running = [pod for pod in bench.pods_of(name) if is_running(pod)]
        if running:
            break
        time.sleep(0.3)
    bench.must(bench.evict(running[0].metadata.name))
    job = bench.await_job(name)
    # The evicted pod is gone when the Job ends: it is put beside the one that took its place.
    evicted = msgspec.structs.replace(
        running[0],
        status=msgspec.structs.replace(
            running[0].status, phase="Failed", conditions=(disruption_condition(Disruption.EVICTION_API),)
        ),
    )
    later = [pod for pod in bench.pods_of(name) if pod.metadata.uid != evicted.metadata.uid]
    return Outcome(predicted=_predicted(manifest, [evicted, *later]), real=_facts(job))


@caused("a disruption without a policy", "a disruption counts", seconds=12)
def disruption_counts(bench: Bench) -> Outcome:
    return _disrupted(bench, f"job-unprotected-{bench.namespace}")


@caused("Ignore on a disruption, then success", "PodFailurePolicy: Ignore on DisruptionTarget", seconds=30)
def ignore_disruption(bench: Bench) -> Outcome:
    return _disrupted(bench, f"job-disrupted-{bench.namespace}", podFailurePolicy=_policy(_IGNORE_DISRUPTION))


@caused("a Job's deadline", "Job DeadlineExceeded", seconds=12)
def deadline(bench: Bench) -> Outcome:
    manifest = a_job("job-deadline", bench.node_name, shell("c", "sleep 3600"), activeDeadlineSeconds=3)
    job, _ = bench.job(manifest)
    predicted = _predicted(manifest, [], active_seconds=3)
    event = bench.await_event("job-deadline", "DeadlineExceeded")
    return Outcome(
        predicted=predicted["conditions"] | {"event": f"Warning: {TEXT_OF[Ending.DEADLINE]}"},
        real=_facts(job)["conditions"] | {"event": f"{event.type}: {event.message}" if event else None},
    )


@caused("an index that fails for good", "FailedIndexes", seconds=12)
def failed_indexes(bench: Bench) -> Outcome:
    manifest = a_job(
        "job-indexed",
        bench.node_name,
        shell("c", _INDEX_FAILS),
        completionMode="Indexed",
        completions=3,
        parallelism=3,
        backoffLimitPerIndex=0,
    )
    return _ended(bench, manifest)


@caused("too many failed indexes", "MaxFailedIndexesExceeded", seconds=12)
def too_many_indexes(bench: Bench) -> Outcome:
    manifest = a_job(
        "job-max-indexes",
        bench.node_name,
        shell("c", f"{_INDEX_FAILS} || exit 1; sleep 3600"),
        completionMode="Indexed",
        completions=2,
        parallelism=2,
        backoffLimitPerIndex=0,
        maxFailedIndexes=0,
    )
    job, pods = bench.job(manifest)
    predicted = _predicted(manifest, [pod for pod in pods if pod.status.phase == "Failed"])
    return Outcome(predicted=predicted["conditions"], real=_facts(job)["conditions"])


@caused("FailIndex on an exit code", "PodFailurePolicy: FailIndex", seconds=12)
def fail_index(bench: Bench) -> Outcome:
    manifest = a_job(
        "job-fail-index",
        bench.node_name,
        shell("c", f"{_INDEX_FAILS} || exit 9"),
        completionMode="Indexed",
        completions=2,
        parallelism=2,
        backoffLimitPerIndex=3,
        podFailurePolicy=_policy(_on_codes("FailIndex", 9)),
    )
    return _ended(bench, manifest)


@caused("a success policy", "SuccessPolicy", seconds=12)
def success_policy(bench: Bench) -> Outcome:
    manifest = a_job(
        "job-success",
        bench.node_name,
        shell("c", 'test "$JOB_COMPLETION_INDEX" = 0 || sleep 3600'),
        completionMode="Indexed",
        completions=2,
        parallelism=2,
        successPolicy={"rules": [{"succeededIndexes": "0"}]},
    )
    job, pods = bench.job(manifest)
    predicted = _predicted(manifest, [pod for pod in pods if pod.status.phase == "Succeeded"])
    return Outcome(predicted=predicted["conditions"], real=_facts(job)["conditions"])


@caused("a Job that completes", "CompletionsReached", seconds=8)
def completes(bench: Bench) -> Outcome:
    manifest = a_job("job-done", bench.node_name, shell("c", "exit 0"), completions=2, parallelism=2)
    return _ended(bench, manifest)
