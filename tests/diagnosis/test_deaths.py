"""What a cluster leaves of a dead attempt, and what is read from it: the first fault, its victims, and no guesses."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.diagnosis.endings import GIB, a_log, a_pod, a_record, an_event, at, evidence

from tonnage.diagnosis.classes import CLASSES
from tonnage.diagnosis.classifying import classify
from tonnage.diagnosis.evidence import ContainerEnd, Evidence
from tonnage.diagnosis.families import FAMILIES

TIMEOUT = "[rank1]: Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7) ran for 600042 ms"
CUDA_OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."


def test_exit_137_alone_is_never_out_of_memory() -> None:
    finding = classify(evidence(a_pod(exit_code=137)))
    assert finding.code == "UNKNOWN"
    assert finding.evidence[0].text == "container trainer: reason: Error, exitCode: 137"


def test_oom_killed_is_out_of_memory_whatever_the_exit_code() -> None:
    for code in (137, 0, 1):
        assert classify(evidence(a_pod(exit_code=code, reason="OOMKilled"))).code == "MEM-01"


def test_an_agent_that_counted_a_kill_is_believed_where_the_runtime_missed_it() -> None:
    finding = classify(evidence(a_pod(exit_code=137), records={0: a_record(usage=64 * GIB, kills=1)}))
    assert finding.code == "MEM-01"
    assert [line.source for line in finding.evidence][:2] == ["agent record of node 0"] * 2


def test_memory_at_its_limit_and_a_kill_nobody_explains_is_out_of_memory() -> None:
    full = a_record(usage=63 * GIB)
    assert classify(evidence(a_pod(exit_code=137), records={0: full})).code == "MEM-01"
    assert classify(evidence(a_pod(exit_code=1), records={0: full})).code != "MEM-01"


def test_a_counted_kill_is_its_own_walls_where_the_peak_reached_it_and_the_nodes_where_it_never_did() -> None:
    def code(peak: int) -> str:
        record = a_record(usage=peak, kills=1)
        record["memory"]["needed"] = 10 * GIB  # the last sample, before the spike
        return classify(evidence(a_pod(exit_code=137), records={0: record})).code

    assert code(64 * GIB) == "MEM-01"
    assert code(20 * GIB) == "MEM-02"


def test_page_cache_at_the_limit_is_not_memory_at_the_limit() -> None:
    def code(needed: int) -> str:
        record = a_record(usage=64 * GIB)
        record["memory"]["needed"] = needed
        return classify(evidence(a_pod(exit_code=137), records={0: record})).code

    assert code(60 * GIB) == "MEM-01"
    assert code(20 * GIB) == "UNKNOWN"


def test_a_kill_with_memory_far_from_its_limit_is_not_called_oom_even_if_the_launcher_saw_minus_nine() -> (
    None
):
    launcher = a_log(0, "ERROR failed (exitcode: -9) local_rank: 3 (pid: 8)")
    seen = evidence(a_pod(exit_code=1), logs=(launcher,), records={0: a_record(usage=8 * GIB)})
    assert classify(seen).code == "UNKNOWN"
    assert classify(evidence(a_pod(exit_code=1), logs=(launcher,))).code == "MEM-01"


def test_a_kill_while_the_node_ran_out_is_the_nodes() -> None:
    event = an_event("SystemOOM", "System OOM encountered, victim process: python, pid: 7", "Node", "n1")
    assert classify(evidence(a_pod(exit_code=137, reason="OOMKilled"), events=(event,))).code == "MEM-02"


@pytest.mark.parametrize(
    ("reason", "code"),
    [
        ("PreemptionByScheduler", "PRE-01"),
        ("EvictionByEvictionAPI", "PRE-03"),
        ("DeletionByTaintManager", "PRE-04"),
        ("DeletionByPodGC", "PRE-04"),
    ],
)
def test_a_disruption_says_who(reason: str, code: str) -> None:
    assert classify(evidence(a_pod(exit_code=137, disrupted=reason))).code == code


def test_an_eviction_is_told_by_its_message() -> None:
    pod = a_pod(exit_code=137, disrupted="TerminationByKubelet")
    low = "The node was low on resource: memory. Threshold quantity: 100Mi, available: 90Mi. "
    finding = classify(evidence(pod, events=(an_event("Evicted", low),)))
    assert finding.code == "MEM-03"


def test_the_first_fault_is_found_behind_the_cries_of_the_others() -> None:
    pods = (
        a_pod(0, exit_code=134, ended=600),
        a_pod(1, exit_code=137, reason="OOMKilled", ended=0),
        a_pod(2, exit_code=143, ended=601),
    )
    finding = classify(Evidence(pods=pods, logs=(a_log(0, TIMEOUT),)))
    assert (finding.code, finding.node, finding.victims) == ("MEM-01", 1, (0, 2))
    assert "NET-01" in [each.code for each in finding.contributing]


def test_an_exception_on_one_rank_beats_timeouts_on_the_others() -> None:
    pods = (a_pod(0, exit_code=134, ended=600), a_pod(1, ended=0))
    finding = classify(Evidence(pods=pods, logs=(a_log(0, TIMEOUT), a_log(1, "KeyError: 'labels'"))))
    assert (finding.code, finding.node, finding.is_root) == ("APP-01", 1, True)


def test_an_exception_after_a_timeout_on_the_same_rank_only_repeats_it() -> None:
    log = a_log(0, TIMEOUT, "RuntimeError: the job was aborted")
    assert classify(evidence(a_pod(exit_code=134), logs=(log,))).code == "NET-01"


def test_what_ended_earlier_on_another_pod_displaces_a_later_disruption() -> None:
    pods = (
        a_pod(0, exit_code=1, ended=0),
        a_pod(1, exit_code=143, disrupted="PreemptionByScheduler", ended=60),
    )
    finding = classify(Evidence(pods=pods, logs=(a_log(0, CUDA_OOM),)))
    assert (finding.code, finding.node) == ("GPU-01e", 0)


def test_a_disruption_that_came_first_stays_the_cause() -> None:
    pods = (
        a_pod(0, exit_code=1, ended=60),
        a_pod(1, exit_code=143, disrupted="PreemptionByScheduler", ended=0),
    )
    assert classify(Evidence(pods=pods, logs=(a_log(0, CUDA_OOM),))).code == "PRE-01"


def test_a_node_that_is_gone_is_evidence_and_spot_nodes_are_told_apart() -> None:
    gone = evidence(a_pod(exit_code=137, node="n7"), gone_nodes=("n7",))
    assert classify(gone).code == "PRE-04"
    assert classify(
        evidence(a_pod(exit_code=137, node="n7"), gone_nodes=("n7",), node_is_spot={"n7": True})
    ).code == ("PRE-05")


def test_what_we_did_ourselves_is_said_first() -> None:
    oom = a_pod(exit_code=137, reason="OOMKilled")
    assert classify(evidence(oom, stopped_by_us="hang")).code == "APP-05"
    assert classify(evidence(a_pod(exit_code=81), records={0: a_record(cause="deadline")})).code == "PRE-07"


def test_a_job_that_reports_its_back_off_limit_does_not_hide_the_cause() -> None:
    conditions = (
        {"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded", "message": "Job has reached"},
    )
    seen = evidence(a_pod(), job_conditions=conditions, logs=(a_log(0, CUDA_OOM),))
    assert classify(seen).code == "GPU-01e"
    assert classify(evidence(a_pod(), job_conditions=conditions)).code == "PRE-07"


def test_growth_and_phase_contribute_to_an_oom() -> None:
    record = a_record(usage=64 * GIB, kills=1, phase="checkpoint", startedAt=at(-7200).timestamp())
    record["memory"]["growthPerSecond"] = 2**20
    finding = classify(evidence(a_pod(exit_code=137), records={0: record}))
    assert finding.code == "MEM-01"
    assert {"MEM-11", "MEM-12"} <= {each.code for each in finding.contributing}


def test_a_bus_error_is_blamed_on_shared_memory_only_where_it_was_short() -> None:
    log = a_log(0, "ERROR: Unexpected bus error encountered in worker.")

    def code(used: int, total: int) -> str:
        record = a_record(shm={"usedBytes": used, "totalBytes": total})
        return classify(evidence(a_pod(), logs=(log,), records={0: record})).code

    assert code(63 * 2**20, 64 * 2**20) == "MEM-05"
    assert code(2**20, 64 * GIB) == "STO-04"


def test_a_full_disk_explains_an_end_that_nothing_else_does() -> None:
    record = a_record(disk={"checkpoints": {"path": "/ckpt", "freeBytes": 0}})
    finding = classify(evidence(a_pod(), records={0: record}))
    assert (finding.code, finding.evidence[0].text) == ("STO-02", "no room left: checkpoints")
    assert classify(evidence(a_pod(exit_code=137, reason="OOMKilled"), records={0: record})).code == "MEM-01"


def test_no_evidence_is_said_to_be_none() -> None:
    finding = classify(Evidence(missing=("pods: deleted",)))
    assert (finding.code, finding.evidence) == ("UNKNOWN", ())


def test_a_termination_message_that_is_a_record_is_not_read_as_words() -> None:
    said = ContainerEnd(name="trainer", exit_code=1, reason="Error", message='{"log":["reason: OOMKilled"]}')
    assert classify(evidence(replace(a_pod(), containers=(said,)))).code == "UNKNOWN"


def test_the_record_keeps_the_log_where_the_pod_is_gone() -> None:
    gone = replace(a_pod(), containers=(), is_gone=True)
    finding = classify(evidence(gone, records={0: a_record(log=[CUDA_OOM])}))
    assert finding.code == "GPU-01e"
    assert finding.evidence[0].source == "agent record of node 0, log line 1"


def test_every_rule_speaks_for_a_known_class() -> None:
    assert {rule.code for family in FAMILIES for rule in family.rules} <= set(CLASSES)


def test_the_same_evidence_gives_the_same_finding() -> None:
    seen = evidence(a_pod(exit_code=137), records={0: a_record(kills=1)}, logs=(a_log(0, CUDA_OOM, TIMEOUT),))
    assert classify(seen) == classify(seen)
