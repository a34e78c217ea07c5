"""What a look at a workload and its pods means."""

from __future__ import annotations

import pytest
from tests.kube.running.api_objects import (
    a_look,
    a_pod,
    a_workload,
    failed,
    running,
    with_condition,
)

from tonnage.kube.running.looking import Look, with_known
from tonnage.kube.running.states import lost_pods, replaced_pods, since, state_of, vanished_first

LATER = "2026-11-15T10:30:00Z"


def by_uid(*pods: dict[str, object]) -> dict[str, dict[str, object]]:
    return {str(pod["metadata"]["uid"]): pod for pod in pods}  # type: ignore[index]


def knowing(look: Look, *pods: dict[str, object]) -> Look:
    """A look before which these pods were known."""
    return with_known(look, by_uid(*pods), by_uid(*look.pods, *pods))


def test_nothing_there_is_absent() -> None:
    assert state_of(Look(None)) == "absent"


def test_without_pods_it_waits() -> None:
    assert state_of(a_look()) == "waiting"


def test_a_gang_waits_until_its_last_pod_has_a_node() -> None:
    assert state_of(a_look(running("a", 0), a_pod("b", index=1), nodes=2)) == "waiting"
    assert state_of(a_look(running("a", 0), running("b", 1), nodes=2)) == "running"


def test_a_placed_pod_starts_and_one_without_an_image_waits() -> None:
    assert state_of(a_look(a_pod(waiting={"reason": "ContainerCreating"}))) == "starting"
    assert state_of(a_look(a_pod(waiting={"reason": "ImagePullBackOff"}))) == "waiting"


@pytest.mark.parametrize(
    ("kind", "condition"),
    [
        ("Job", "Complete"),
        ("Job", "Failed"),
        ("JobSet", "Completed"),
        ("JobSet", "Failed"),
        ("TrainJob", "Complete"),
        ("PyTorchJob", "Succeeded"),
        ("MPIJob", "Failed"),
    ],
)
def test_each_kind_says_its_end_in_its_own_words(kind: str, condition: str) -> None:
    assert state_of(a_look(failed(), workload=with_condition(a_workload(kind), condition))) == "ended"
    assert (
        state_of(a_look(running(), workload=with_condition(a_workload(kind), condition, "False")))
        == "running"
    )


def test_before_its_last_pod_is_gone_a_failing_job_is_stopping() -> None:
    assert state_of(a_look(running(), workload=with_condition(a_workload(), "FailureTarget"))) == "stopping"


def test_what_we_ended_is_over_once_nothing_of_it_lives() -> None:
    over = a_workload(over="stopped", suspend=True)
    assert state_of(a_look(running(), workload=over)) == "stopping"
    assert state_of(a_look(workload=over)) == "ended"
    assert state_of(a_look(workload=a_workload(over="suspended", suspend=True))) == "suspended"


def test_suspended_by_a_queue_it_waits_and_by_anybody_else_it_is_suspended() -> None:
    held = a_look(workload=a_workload(suspend=True))
    assert state_of(held, is_queued=True) == "waiting"
    assert state_of(held) == "suspended"
    assert state_of(a_look(workload=a_workload("PyTorchJob", runPolicy={"suspend": True}))) == "suspended"


def test_a_started_pod_that_failed_or_vanished_is_lost() -> None:
    assert lost_pods(knowing(a_look(failed("a")), running("a"))) == ["a"]
    assert lost_pods(knowing(a_look(a_pod("b", made=LATER)), running("a"))) == ["a"]


def test_a_pod_that_a_watch_heard_of_after_the_look_is_not_lost() -> None:
    """A look may be at work for long, where a crashed node is asked: meanwhile another pod has started."""
    look = with_known(a_look(failed("a")), {"a"}, by_uid(running("a"), running("b", made=LATER)))
    assert lost_pods(look) == ["a"]
    assert set(look.known) == {"a"}


def test_what_never_started_or_ended_well_is_not_lost() -> None:
    assert lost_pods(knowing(a_look(a_pod("b")), a_pod("a"))) == []
    done = a_pod("a", phase="Succeeded", terminated={"exitCode": 0})
    assert lost_pods(knowing(a_look(), done)) == []


def test_a_replacement_that_runs_already_is_left_alone_and_the_death_is_known() -> None:
    look = a_look(running("b", made=LATER))
    assert lost_pods(knowing(look, running("a"))) == []
    assert replaced_pods(knowing(look, running("a"))) == ["a"]


def test_a_replacement_that_has_ended_replaced_it_too() -> None:
    done = a_pod("b", made=LATER, phase="Succeeded", terminated={"exitCode": 0})
    assert replaced_pods(knowing(a_look(done), running("a"), done)) == ["a"]


def test_what_waits_or_stands_in_another_place_has_replaced_nobody() -> None:
    assert replaced_pods(knowing(a_look(a_pod("b", made=LATER)), running("a"))) == []
    assert replaced_pods(knowing(a_look(running("b", 1, made=LATER), nodes=2), running("a", 0))) == []
    assert replaced_pods(knowing(a_look(running("a")), running("a"))) == []


def test_waiting_counts_from_the_newest_pod() -> None:
    found = since(a_look(a_pod("a", made=LATER)), "waiting")
    assert found is not None
    assert found.isoformat() == "2026-11-15T10:30:00+00:00"


def test_a_pod_that_vanished_before_the_end_is_told_from_those_that_were_cleaned_up() -> None:
    over = with_condition(a_workload("PyTorchJob"), "Failed", lastTransitionTime="2026-11-15T10:30:00Z")
    look, end = a_look(failed("c", 2), workload=over, nodes=3), 1794738600.0
    known = (running("a", 0), running("b", 1), failed("c", 2))
    assert vanished_first(knowing(look, *known), {"a": end - 2, "b": end + 1}) == ["a"]
    assert vanished_first(knowing(a_look(nodes=3), *known), {"a": end - 2}) == []
    again = a_look(running("d", 0, made=LATER), failed("c", 2), workload=over, nodes=3)
    assert vanished_first(knowing(again, *known), {"a": end - 2}) == []
