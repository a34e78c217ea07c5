"""When a Job gives up."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from node_builders import a_failed_pod, a_job, a_pod, ended, running

from tonnage.cluster.ending.jobs import (
    apply_failure_policy,
    counts_against_backoff_limit,
    is_failed,
    most_attempts,
    parse_indexes,
    retry_delay_seconds,
    status_counts,
    verdict,
)

DISRUPTED = [{"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}]
TRACKED = ["batch.kubernetes.io/job-tracking"]


def policy(*rules):
    return {"rules": list(rules)}


def on_codes(action, operator, *values, **parts):
    return {"action": action, "onExitCodes": {"operator": operator, "values": list(values), **parts}}


IGNORE_DISRUPTION = {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}


def ending(job, pods, **parts):
    found = verdict(job, pods, **parts)
    return None if found is None else (found.condition, found.ending.value)


def test_with_never_a_job_fails_when_more_pods_failed_than_the_limit():
    job = a_job(backoffLimit=2)
    pods = [a_failed_pod(str(i)) for i in range(3)]
    assert ending(job, pods[:2]) is None
    assert ending(job, pods) == ("Failed", "BackoffLimitExceeded")


def test_counts_already_in_the_status_are_not_counted_twice():
    job = a_job(backoffLimit=2, status={"failed": 2})
    counted = a_pod("old", status={"phase": "Failed"})
    assert ending(job, [counted]) is None
    assert ending(job, [counted, a_failed_pod("new")]) == ("Failed", "BackoffLimitExceeded")


@pytest.mark.parametrize(
    ("limit", "restarts", "fails"), [(3, 2, False), (3, 3, True), (0, 0, False), (0, 1, True)]
)
def test_with_on_failure_a_job_fails_when_restarts_reach_the_limit(limit, restarts, fails):
    job = a_job(backoffLimit=limit, restart_policy="OnFailure")
    pod = a_pod("p", status={"phase": "Running", "containerStatuses": [running(restarts=restarts)]})
    assert (ending(job, [pod]) is not None) is fails


def test_without_a_policy_every_disruption_counts():
    job = a_job(backoffLimit=6)
    preempted = [a_failed_pod(str(i), 143, conditions=DISRUPTED) for i in range(7)]
    assert all(counts_against_backoff_limit(job, pod) for pod in preempted)
    assert ending(job, preempted) == ("Failed", "BackoffLimitExceeded")


def test_an_ignore_rule_makes_disruptions_free():
    job = a_job(backoffLimit=0, podFailurePolicy=policy(IGNORE_DISRUPTION))
    assert ending(job, [a_failed_pod(str(i), 137, conditions=DISRUPTED) for i in range(9)]) is None


def test_a_rule_on_137_before_the_ignore_rule_catches_disruptions_too():
    job = a_job(podFailurePolicy=policy(on_codes("FailJob", "In", 137), IGNORE_DISRUPTION))
    found = apply_failure_policy(job, a_failed_pod("x", 137, conditions=DISRUPTED))
    assert found.action == "FailJob"
    assert (
        found.message == "Container c for pod ns/x failed with exit code 137 matching FailJob rule at index 0"
    )


def test_fail_job_ends_the_job_at_once_and_says_which_rule():
    job = a_job(backoffLimit=9, podFailurePolicy=policy(IGNORE_DISRUPTION, on_codes("FailJob", "In", 42)))
    found = verdict(job, [a_failed_pod("pfp-94v68", 42)])
    assert (found.condition, found.interim, found.ending) == ("Failed", "FailureTarget", "PodFailurePolicy")
    assert (
        found.message
        == "Container c for pod ns/pfp-94v68 failed with exit code 42 matching FailJob rule at index 1"
    )


def test_exit_code_rules_see_only_non_zero_codes_of_the_named_container():
    job = a_job(podFailurePolicy=policy(on_codes("Ignore", "NotIn", 1, containerName="c")))
    other = a_pod("p", status={"phase": "Failed", "containerStatuses": [ended("d", 5), ended("c", 0)]})
    mine = a_pod("p", status={"phase": "Failed", "containerStatuses": [ended("c", 5)]})
    assert apply_failure_policy(job, other).action is None
    assert apply_failure_policy(job, mine).action == "Ignore"


def test_a_count_rule_stops_later_rules():
    job = a_job(podFailurePolicy=policy(on_codes("Count", "In", 7), on_codes("FailJob", "NotIn", 0)))
    assert apply_failure_policy(job, a_failed_pod(exit_code=7)).counts
    assert apply_failure_policy(job, a_failed_pod(exit_code=7)).message is None


def test_init_containers_are_asked_last():
    job = a_job(podFailurePolicy=policy(on_codes("FailJob", "In", 3)))
    pod = a_pod("p", status={"phase": "Failed", "initContainerStatuses": [ended("setup", 3)]})
    assert apply_failure_policy(job, pod).message.startswith("Container setup for pod")


def test_a_pod_being_deleted_counts_at_once_unless_the_replacement_waits():
    going = a_pod("p", deleted=True, status={"phase": "Running"})
    assert is_failed(a_job(), going)
    assert not is_failed(a_job(podReplacementPolicy="Failed"), going)
    assert not is_failed(a_job(podFailurePolicy=policy(IGNORE_DISRUPTION)), going)
    assert not is_failed(a_job(), a_pod("p", deleted=True, status={"phase": "Succeeded"}))


def test_the_deadline_comes_after_the_limit_and_stops_while_suspended():
    assert ending(a_job(activeDeadlineSeconds=5), [], active_seconds=5) == ("Failed", "DeadlineExceeded")
    assert ending(a_job(activeDeadlineSeconds=5), [], active_seconds=4.9) is None
    assert ending(a_job(activeDeadlineSeconds=5, suspend=True), [], active_seconds=9) is None
    late = a_job(activeDeadlineSeconds=5, backoffLimit=0)
    assert ending(late, [a_failed_pod()], active_seconds=9) == ("Failed", "BackoffLimitExceeded")


def indexed(index, exit_code, failures=0, phase="Failed"):
    annotations = {
        "batch.kubernetes.io/job-completion-index": str(index),
        "batch.kubernetes.io/job-index-failure-count": str(failures),
    }
    status = {"phase": phase, "containerStatuses": [ended("c", exit_code)]}
    return a_pod(f"i{index}-{failures}", status=status, annotations=annotations, finalizers=TRACKED)


def an_indexed_job(**spec):
    return a_job(completionMode="Indexed", completions=3, parallelism=3, backoffLimitPerIndex=1, **spec)


def test_an_index_fails_after_its_own_limit_and_the_job_when_all_are_over():
    pods = [indexed(0, 1, 0), indexed(0, 1, 1), indexed(1, 0, phase="Succeeded")]
    assert ending(an_indexed_job(), pods) is None
    pods.append(indexed(2, 0, phase="Succeeded"))
    assert ending(an_indexed_job(), pods) == ("Failed", "FailedIndexes")


def test_too_many_failed_indexes_end_the_job_early():
    pods = [indexed(0, 1, 1), indexed(1, 1, 1)]
    assert ending(an_indexed_job(maxFailedIndexes=1), pods) == ("Failed", "MaxFailedIndexesExceeded")


def test_fail_index_spends_the_index_at_once():
    job = an_indexed_job(maxFailedIndexes=0, podFailurePolicy=policy(on_codes("FailIndex", "In", 9)))
    assert ending(job, [indexed(0, 9, 0)]) == ("Failed", "MaxFailedIndexesExceeded")


def test_a_success_policy_ends_the_job_with_its_rule():
    job = a_job(
        completionMode="Indexed",
        completions=4,
        successPolicy={
            "rules": [{"succeededIndexes": "2-3"}, {"succeededIndexes": "0-2", "succeededCount": 1}]
        },
    )
    found = verdict(job, [indexed(0, 0, phase="Succeeded"), a_pod("p", status={"phase": "Running"})])
    assert (found.condition, found.interim, found.message) == (
        "Complete",
        "SuccessCriteriaMet",
        "Matched rules at index 1",
    )


def test_a_job_completes_when_enough_pods_succeeded_and_none_is_left():
    done = a_pod("d", status={"phase": "Succeeded"}, finalizers=TRACKED)
    left = a_pod("l", status={"phase": "Running"})
    assert ending(a_job(), [done]) == ("Complete", "CompletionsReached")
    assert ending(a_job(), [done, left]) is None
    assert ending(a_job(completions=2), [done]) is None


def test_retries_wait_ten_seconds_and_then_twice_as_long_up_to_ten_minutes():
    assert [retry_delay_seconds(n) for n in (0, 1, 2, 3, 6, 7, 100)] == [0, 10, 20, 40, 320, 600, 600]


@given(st.sets(st.integers(0, 30)))
def test_index_lists_are_read_back(indexes):
    assert parse_indexes(",".join(map(str, sorted(indexes))), 31) == indexes


def test_index_intervals_stop_at_the_last_completion():
    assert parse_indexes("1,3-9", 5) == {1, 3, 4}


def counted(job, pods, **parts):
    found = status_counts(job, pods, **parts)
    return found.failed, found.succeeded


def test_the_status_counts_what_is_not_ignored():
    job = a_job(backoffLimit=6, podFailurePolicy=policy(IGNORE_DISRUPTION))
    pods = [a_failed_pod("a", 1), a_failed_pod("b", 137, conditions=DISRUPTED)]
    assert counted(job, pods) == (1, 0)


def test_the_status_adds_to_what_it_has_counted_before():
    job = a_job(backoffLimit=6, completions=3, status={"failed": 2, "succeeded": 1})
    old = a_pod("old", status={"phase": "Failed"})
    done = a_pod("done", finalizers=TRACKED, status={"phase": "Succeeded"})
    assert counted(job, [old, done, a_failed_pod("new")]) == (3, 2)


def test_pods_of_a_failed_job_count_as_failed_before_they_end():
    job = a_job(backoffLimit=0, parallelism=2, completions=2)
    at_work = a_pod("at-work", finalizers=TRACKED, status={"phase": "Running"})
    assert counted(job, [at_work]) == (0, 0)
    assert counted(job, [a_failed_pod("a"), at_work]) == (2, 0)
    assert counted(a_job(activeDeadlineSeconds=3), [at_work], active_seconds=3) == (1, 0)


def test_indexes_beyond_completions_are_not_counted():
    job = a_job(completionMode="Indexed", completions=1, parallelism=1)

    def at(index, phase):
        annotations = {"batch.kubernetes.io/job-completion-index": str(index)}
        return a_pod(f"p{index}", finalizers=TRACKED, annotations=annotations, status={"phase": phase})

    assert counted(job, [at(0, "Succeeded"), at(1, "Succeeded")]) == (0, 1)
    assert counted(job, [at(1, "Failed")]) == (0, 0)


def test_the_limit_is_one_less_than_the_attempts_with_never_and_no_number_of_pods_with_on_failure():
    assert most_attempts(a_job(backoffLimit=3)) == 4
    assert most_attempts(a_job()) == 7
    assert most_attempts(a_job(backoffLimit=3, restart_policy="OnFailure")) is None
