"""From what a place leaves behind to the ending that is kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.diagnosis.endings import GIB, NOON, a_log, a_pod, a_record, an_event, at, evidence
from tests.running.situations import an_attempt

from tonnage.diagnosis.classifying import classify
from tonnage.diagnosis.evidence import ContainerEnd, Evidence, PodEnd
from tonnage.memory.series import Point
from tonnage.running.attempts import Ending, Size
from tonnage.running.causes import cause_of
from tonnage.running.endings import ending_of
from tonnage.running.observing import Observation, Progress, Saved
from tonnage.running.records import observed_in
from tonnage_agent.record import Record

CUDA_OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."


def ended(seen: Evidence, *, later: float = 60, stopping: str = "", **more: Any) -> Ending:
    attempt = an_attempt(started=at(-1000), stopping=stopping)
    ending = ending_of(attempt, Observation(state="ended", since=NOON, **more), seen, at(later))
    assert ending is not None
    return ending


@pytest.mark.parametrize(
    ("cause", "seen"),
    [
        ("host_oom", evidence(a_pod(exit_code=137, reason="OOMKilled"))),
        ("host_oom", evidence(a_pod(exit_code=0, reason="OOMKilled"))),
        ("gpu_oom", evidence(a_pod(), logs=(a_log(0, CUDA_OOM),))),
        ("preemption", evidence(a_pod(exit_code=143, disrupted="PreemptionByScheduler"))),
        ("eviction", evidence(a_pod(exit_code=143, disrupted="EvictionByEvictionAPI"))),
        (
            "spot",
            evidence(a_pod(exit_code=143, disrupted="EvictionByEvictionAPI"), node_is_spot={"n1": True}),
        ),
        ("spot", evidence(a_pod(exit_code=137), gone_nodes=("n1",), node_is_spot={"n1": True})),
        ("node", evidence(a_pod(exit_code=137), gone_nodes=("n1",))),
        ("node", evidence(a_pod(), logs=(a_log(0, "CUDA error: uncorrectable ECC error encountered"),))),
        ("network", evidence(a_pod(), logs=(a_log(0, "[E] Watchdog caught collective operation timeout"),))),
        ("storage", evidence(a_pod(), logs=(a_log(0, "OSError: [Errno 28] No space left on device"),))),
        ("code", evidence(a_pod(), logs=(a_log(0, "KeyError: 'labels'"),))),
        ("unknown", evidence(a_pod(exit_code=137))),
        ("deadline", evidence(a_pod(exit_code=81), records={0: a_record(cause="deadline")})),
        ("budget", evidence(a_pod(exit_code=82), records={0: a_record(cause="budget")})),
        ("network", evidence(a_pod(exit_code=80), records={0: a_record(cause="preflight")})),
        ("network", evidence(a_pod(exit_code=80))),
        ("deadline", evidence(a_pod(exit_code=81))),
        ("budget", evidence(a_pod(exit_code=82))),
        ("code", evidence(a_pod(exit_code=83))),
        ("preemption", evidence(a_pod(exit_code=0, disrupted="PreemptionByScheduler"))),
        ("unknown", evidence(a_pod(exit_code=0), records={0: a_record(cause="terminated")})),
        ("unknown", evidence(a_pod(exit_code=143), records={0: a_record(cause="terminated")})),
        ("hang", evidence(a_pod(exit_code=143), stopped_by_us="hang")),
        ("stopped", evidence(a_pod(exit_code=143), stopped_by_us="stopped")),
    ],
)
def test_every_way_to_die_uses_its_own_budget(cause: str, seen: Evidence) -> None:
    assert ended(seen).cause == cause
    assert cause_of(classify(seen), seen) == cause


def test_a_node_short_of_disk_and_a_pod_over_its_own_limit_are_told_apart() -> None:
    def evicted(text: str) -> str | None:
        return ended(
            evidence(a_pod(exit_code=137, reason="Error"), events=(an_event("Evicted", text),))
        ).cause

    assert (
        evicted("The node was low on resource: ephemeral-storage. Threshold quantity: 1, available: 0. ")
        == "eviction"
    )
    assert (
        evicted("Pod ephemeral local storage usage exceeds the total limit of containers 5Gi. ") == "storage"
    )


def test_an_image_that_does_not_exist_is_the_documents_mistake() -> None:
    def pulling(text: str) -> str | None:
        return ended(evidence(a_pod(exit_code=None), events=(an_event("Failed", text),))).cause

    assert pulling('Failed to pull image "x": manifest unknown') == "code"
    assert pulling('Failed to pull image "x": i/o timeout') == "network"


def test_one_impossible_allocation_is_the_programs_error() -> None:
    line = "RuntimeError: DefaultCPUAllocator: not enough memory: you tried to allocate {} bytes."
    pod = a_pod(memory_limit=64 * GIB)
    assert ended(evidence(pod, logs=(a_log(0, line.format(900 * GIB)),))).cause == "code"
    assert ended(evidence(pod, logs=(a_log(0, line.format(9 * GIB)),))).cause == "host_oom"


def test_what_we_stopped_is_put_down_to_our_reason_even_if_the_place_does_not_know() -> None:
    assert ended(evidence(a_pod(exit_code=143)), stopping="hang").cause == "hang"


def test_evidence_that_is_not_sure_is_looked_at_again_until_it_has_settled() -> None:
    killed = evidence(a_pod(exit_code=137))
    looked = ending_of(an_attempt(), Observation(state="ended", since=NOON), killed, at(3))
    assert looked is None
    assert ended(killed, later=30).cause == "unknown"
    assert ended(evidence(a_pod(exit_code=137, reason="OOMKilled")), later=0).cause == "host_oom"


def test_exit_0_is_finished_and_says_so_where_steps_are_missing() -> None:
    early = ended(evidence(a_pod(exit_code=0)), progress=Progress(step=8, total=10))
    assert early.summary == "the command exited 0 after 8 of 10 steps"
    for last in (9, 10):  # counted from 0 or from 1
        done = ended(evidence(a_pod(exit_code=0)), progress=Progress(step=last, total=10))
        assert (done.summary, done.step) == ("", 10)


def test_what_made_its_last_step_is_finished_even_if_it_was_being_drained() -> None:
    seen = evidence(a_pod(exit_code=0, disrupted="EvictionByEvictionAPI"))
    assert ended(seen, progress=Progress(step=10, total=10)).is_success
    assert ended(seen, progress=Progress(step=5, total=10)).cause == "eviction"


def test_a_child_that_was_oom_killed_on_the_way_does_not_undo_a_finished_run() -> None:
    seen = evidence(a_pod(exit_code=0, reason="OOMKilled"))
    assert ended(seen, progress=Progress(step=10, total=10)).is_success
    assert not ended(seen, progress=Progress(step=8, total=10)).is_success


def test_one_pod_that_failed_makes_the_gang_fail() -> None:
    assert ended(Evidence(pods=(a_pod(0, exit_code=0), a_pod(1, exit_code=1)))).cause is not None


def test_records_speak_for_pods_that_are_gone() -> None:
    done = a_record(exitCode=0) | {"state": "ended"}
    assert ended(Evidence(records={0: done})).is_success


def test_what_is_kept_is_what_the_next_attempt_needs() -> None:
    record = a_record(usage=63 * GIB, kills=1, step=95, total=200, stepSeconds=2.0, firstRank=5)
    record["checkpoint"] = {"step": 90, "when": at(-20).timestamp()}
    record["memory"]["growthPerSecond"] = 1000
    ending = ended(
        Evidence(pods=(a_pod(0, exit_code=143, ended=5), a_pod(1, exit_code=137)), records={1: record})
    )
    assert ending.summary == "rank 5 OOM-killed: over its own limit"
    assert (ending.node, ending.step, ending.safe_step, ending.peak) == (1, 95, 90, 63 * GIB)
    assert (ending.lost_seconds, ending.growth_per_second, ending.seconds_left) == (20.0, 1000.0, 220.0)
    assert ending.evidence[0] == "oom_kill count rose by 1   agent record of node 1"


def test_only_time_that_this_attempt_ran_can_be_lost() -> None:
    old = Saved(step=10, when=at(-100_000))
    assert ended(evidence(a_pod(exit_code=137)), saved=old).lost_seconds == 1000.0


def test_memory_over_time_judges_growth_better_than_the_last_slope() -> None:
    record = a_record(usage=63 * GIB, kills=1)
    record["memory"]["growthPerSecond"] = 10**9
    seen = evidence(a_pod(exit_code=137), records={0: record})

    def growth(of: Callable[[int], float]) -> float | None:
        kept = {0: [Point(60.0 * n, of(n) * GIB) for n in range(120)]}
        ending = ending_of(an_attempt(), Observation(state="ended", since=NOON), seen, at(60), series=kept)
        assert ending is not None
        return ending.growth_per_second

    assert growth(lambda n: 20.0 if n < 100 else 63.0) is None
    assert growth(lambda n: 20.0 + n * 0.3) == pytest.approx(0.3 * GIB / 60)


def test_what_died_before_anybody_saw_it_run_has_still_lost_its_time() -> None:
    record = a_record(startedAt=at(-7).timestamp())
    unseen = an_attempt(started=None)
    ending = ending_of(
        unseen, Observation(state="ended", since=NOON), evidence(a_pod(), records={0: record}), at(60)
    )
    assert ending is not None
    assert ending.lost_seconds == 7.0


def test_an_end_that_nothing_explains_says_how_it_ended_and_what_was_printed_last() -> None:
    ending = ended(
        evidence(a_pod(exit_code=3), logs=(a_log(0, "\x1b[1mepoch 3\x1b[0m", "", "tonnage: note"),))
    )
    assert (ending.cause, ending.summary) == ("unknown", "ended with exit code 3, and nothing says why")
    assert ending.last_line == "epoch 3"
    assert ended(evidence(a_pod(exit_code=137))).summary == "ended by SIGKILL, and nothing says why"
    assert ended(evidence(a_pod(), logs=(a_log(0, "KeyError: 'x'"),))).last_line == ""


def test_a_pod_that_vanished_while_it_ran_did_not_end_with_what_prepared_it() -> None:
    """An init container that unpacked the code ended long before: time and money of the attempt would be lost."""
    unpacked = ContainerEnd(name="tonnage-code", exit_code=0, finished=at(-990), is_init=True)
    running = ContainerEnd(name="main", started=at(-989))
    seen = evidence(PodEnd(index=0, name="pod-0", containers=(unpacked, running), is_gone=True))
    assert ended(seen).when == NOON


def test_a_run_whose_saves_all_failed_is_finished_and_says_so() -> None:
    told = a_record(state="ended", exitCode=0, step=9, total=10, message="step 9 was not saved to /full")
    assert ended(evidence(a_pod(exit_code=0), records={0: told})).summary.startswith("every save failed")
    saved = {**told, "checkpoint": {"step": 5, "when": 0}}
    assert ended(evidence(a_pod(exit_code=0), records={0: saved})).summary == ""


def test_a_command_that_leaves_something_running_is_said_to() -> None:
    record = {
        "version": 1,
        "state": "ended",
        "exitCode": 0,
        "message": "it left 1 process running, ended with it",
    }
    left = ended(evidence(a_pod(exit_code=0), records={0: record}))
    assert (left.cause, left.summary) == (None, "it left 1 process running, ended with it")


def test_what_the_agent_measured_after_the_kill_does_not_hide_a_leak() -> None:
    alive = [Point(second / 2, (20 + 5 * second) * 2**20) for second in range(16)]
    after = [Point(8.1, 11 * 2**20), Point(8.3, 11 * 2**20)]
    seen = evidence(a_pod(exit_code=137, reason="OOMKilled"))
    ending = ending_of(
        an_attempt(size=Size(memory=96 * 2**20)),
        Observation(state="ended", since=NOON),
        seen,
        at(60),
        series={0: [*alive, *after]},
    )
    assert ending is not None
    assert ending.growth_per_second == pytest.approx(10 * 2**20, rel=0.05)


def test_the_last_words_of_an_agent_are_no_note_on_a_living_run() -> None:
    last = Record(state="ended", message="the command was OOM-killed by the kernel (1 so far)")
    going = Record(state="running", message="step 9 was not saved: the disk is full")
    assert observed_in([last]).notes == ()
    assert observed_in([going]).notes == (going.message,)
