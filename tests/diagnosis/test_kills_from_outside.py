"""SIGKILL while the kernel counted no kill for memory was sent by somebody; without a count nobody knows."""

from __future__ import annotations

import pytest
from endings import GIB, a_log, a_pod, a_record, an_event, at, evidence

from tonnage.diagnosis.classifying import classify
from tonnage.diagnosis.evidence import ContainerEnd, Evidence, PodEnd


def ended(**more: object) -> dict[str, object]:
    """An agent that saw its command get SIGKILL."""
    return {**a_record(usage=8 * GIB), "state": "ended", "signal": 9, "exitCode": 137, **more}


def on_this_machine(exit_code: int | None, kills: int | None, record: object = None) -> Evidence:
    end = ContainerEnd(name="main", exit_code=exit_code, reason="Error", oom_kills=kills)
    pod = PodEnd(index=0, name="r-0", containers=(end,))
    return evidence(pod, records={} if record is None else {0: record})  # type: ignore[dict-item]


def test_a_rank_killed_before_its_agents_eyes_was_killed_from_outside() -> None:
    finding = classify(evidence(a_pod(exit_code=137), records={0: ended()}))
    assert finding.code == "EXT-01"
    assert "counted no kill" in finding.evidence[0].text


def test_without_a_count_it_stays_unknown() -> None:
    record = ended()
    del record["memory"]["oomKills"]  # type: ignore[attr-defined]
    assert classify(evidence(a_pod(exit_code=137), records={0: record})).code == "UNKNOWN"


def test_an_agent_killed_with_its_command_in_a_pod_leaves_no_count() -> None:
    assert classify(evidence(a_pod(exit_code=137), records={0: a_record(usage=8 * GIB)})).code == "UNKNOWN"


@pytest.mark.parametrize(("kills", "code"), [(0, "EXT-01"), (None, "UNKNOWN")])
def test_a_cgroup_that_outlived_them_tells(kills: int | None, code: str) -> None:
    assert classify(on_this_machine(137, kills, a_record(usage=8 * GIB))).code == code


@pytest.mark.parametrize("exit_code", [None, 137])
def test_a_cgroup_that_counted_a_kill_was_out_of_memory(exit_code: int | None) -> None:
    """The last sample is older than the kill, and shim, agent and command died of it together."""
    finding = classify(on_this_machine(exit_code, 1, a_record(usage=8 * GIB)))
    assert finding.code == "MEM-01"
    assert "counted 1 kill" in finding.evidence[0].text


def test_a_kill_that_the_command_outlived_is_not_how_it_ended() -> None:
    assert classify(on_this_machine(1, 1)).code == "UNKNOWN"


def test_nobody_left_to_see_an_exit_code_and_an_agent_in_mid_sentence() -> None:
    for state in ("starting", "running", "stopping"):
        assert (
            classify(on_this_machine(None, 0, {**a_record(usage=8 * GIB), "state": state})).code == "EXT-01"
        )
    well = {**a_record(usage=8 * GIB), "state": "ended", "exitCode": 0}
    assert classify(on_this_machine(None, 0, well)).code == "UNKNOWN"


def test_a_command_told_to_end_and_then_killed_was_told_first() -> None:
    told = ended(cause="terminated", message="SIGTERM")
    finding = classify(evidence(a_pod(exit_code=137), records={0: told}))
    assert (finding.code, finding.evidence[0].text) == ("EXT-01", "SIGTERM")


def test_the_one_that_was_killed_is_first_and_those_that_cry_are_its_victims() -> None:
    cry = a_log(1, "RuntimeError: Connection closed by peer [10.0.0.7]:29500")
    finding = classify(evidence(a_pod(0, exit_code=137), a_pod(1), records={0: ended()}, logs=(cry,)))
    assert (finding.code, finding.node, finding.victims) == ("EXT-01", 0, (1,))


def test_an_error_of_the_program_explains_more_than_a_kill_after_it() -> None:
    said = a_log(0, "Traceback (most recent call last):", "KeyError: 'labels'")
    assert classify(evidence(a_pod(exit_code=137), records={0: ended()}, logs=(said,))).code == "APP-01"


def test_a_controllers_event_about_an_error_is_no_exception_of_the_program() -> None:
    """The Training Operator's words about a launcher that lost a worker."""
    event = an_event(
        "Error", "Error pod r-2 container mpi exitCode: 205 terminated message: x", "MPIJob", "r"
    )
    lost = a_log(2, "ORTE has lost communication with a remote daemon.")
    finding = classify(evidence(a_pod(2, exit_code=205), events=(event,), logs=(lost,)))
    assert (finding.code, finding.is_root) == ("NET-03", False)
    assert classify(evidence(a_pod(2, exit_code=205), events=(event,))).code == "UNKNOWN"


def test_a_launcher_that_crashes_when_its_worker_is_deleted_crashed_of_that() -> None:
    """Open MPI's mpirun ends by a segmentation fault of its own where a worker vanishes."""
    crash = a_log(2, "[launcher:00009] Signal: Segmentation fault (11)")
    worker = PodEnd(
        index=1, name="w-1", node="n1", phase="Running", is_gone=True, is_lost=True, gone_at=at(0)
    )
    after = evidence(worker, a_pod(2, exit_code=139, ended=1), logs=(crash,))
    assert (classify(after).code, classify(after).node) == ("EXT-01", 1)
    before = evidence(worker, a_pod(2, exit_code=139, ended=-3), logs=(crash,))
    assert classify(before).code == "APP-03"
