"""Who holds a run, in one line, from what Kubernetes writes."""

from __future__ import annotations

from tests.kube.running.api_objects import a_look, a_pod, a_workload, with_condition

from tonnage.kube.running.holding import held_by

UNSCHEDULABLE = (
    "0/10 nodes are available: 1 node(s) had untolerated taint(s), 9 Insufficient nvidia.com/gpu. "
    "preemption: 0/10 nodes are available: 10 Preemption is not helpful for scheduling."
)


def event(message: str, reason: str = "FailedCreate", when: str = "2026-11-15T10:00:00Z") -> dict[str, str]:
    return {"reason": reason, "message": message, "lastTimestamp": when}


def test_the_scheduler_s_reasons_the_commonest_first() -> None:
    pod = with_condition(a_pod(), "PodScheduled", "False", reason="Unschedulable", message=UNSCHEDULABLE)
    held = held_by(a_look(pod), [])
    assert (
        held == "scheduler: 0 of 10 nodes: 9 Insufficient nvidia.com/gpu, 1 node(s) had untolerated taint(s)"
    )


def test_of_a_gang_it_says_how_many_pods_wait() -> None:
    pods = [
        with_condition(a_pod(str(n), index=n), "PodScheduled", "False", message=UNSCHEDULABLE)
        for n in range(3)
    ]
    assert held_by(a_look(*pods, nodes=4), []).startswith("scheduler, 3 of 4 pods: 0 of 10 nodes: ")


def test_a_quota_by_name_and_figures_the_newest_word_counts() -> None:
    old = event("Error creating: something else", when="2026-11-15T09:00:00Z")
    full = event(
        'Error creating: pods "x-5w27p" is forbidden: exceeded quota: walls, requested: limits.memory=8Gi, '
        "used: limits.memory=60Gi, limited: limits.memory=64Gi"
    )
    assert held_by(a_look(), [full, old]) == "quota walls: limits.memory 60Gi of 64Gi used, 8Gi more asked"


def test_a_refusal_of_another_kind_is_told_as_it_is() -> None:
    refused = event('Error creating: pods "x-1" is forbidden: violates PodSecurity "restricted:latest"')
    assert held_by(a_look(), [refused]) == 'violates PodSecurity "restricted:latest"'


def test_an_image_that_cannot_be_pulled() -> None:
    pod = a_pod(waiting={"reason": "ImagePullBackOff", "message": 'Back-off pulling image "a:1"'})
    assert held_by(a_look(pod), []) == 'ImagePullBackOff: Back-off pulling image "a:1"'


def test_a_queue_with_the_place_in_line_and_kueue_s_reason() -> None:
    kueue = with_condition(
        a_workload("Workload"),
        "QuotaReserved",
        "False",
        message="insufficient unused quota for nvidia.com/gpu",
    )
    held = held_by(a_look(), [], workload=kueue, queue="research", place=1)
    assert held == "queue research, 2nd in line: insufficient unused quota for nvidia.com/gpu"


def test_admitted_by_its_queue_it_is_the_scheduler_s() -> None:
    admitted = with_condition(a_workload("Workload"), "Admitted")
    pod = with_condition(a_pod(), "PodScheduled", "False", message=UNSCHEDULABLE)
    assert held_by(a_look(pod), [], workload=admitted, queue="research").startswith("scheduler: ")


def test_nobody_has_said_anything_yet() -> None:
    assert held_by(a_look(), []) == ""
