"""The lines people read when a run dies and comes back."""

from __future__ import annotations

from dataclasses import replace

from tests.running.situations import GIB, NOW, ago, an_attempt, an_ending, policies

from tonnage.running import wording
from tonnage.running.actions import GiveUp, Launch
from tonnage.running.attempts import Attempt, Size
from tonnage.running.history import Launching, RunRecord
from tonnage.running.observing import Refit


def a_run(*attempts: Attempt, price: int | None = None) -> RunRecord:
    launching = Launching(document="", price_per_hour=price)
    return RunRecord(id=1, name="bert", place="", created=NOW, launching=launching, attempts=attempts)


def test_a_death_says_what_happened_why_and_what_it_cost() -> None:
    ending = an_ending(
        summary="rank 5 OOM-killed: over its own limit",
        peak=260 * GIB,
        growth_per_second=2.1 * GIB / 3600,
        lost_seconds=96.0,
        safe_step=9120,
    )
    dead = an_attempt(1, ending, size=Size(memory=260 * GIB))
    assert wording.death_lines(dead, policies(price_per_hour=60_000_000)) == [
        "rank 5 OOM-killed: over its own limit   RAM 260.0 of 260 GiB",
        "cause  RAM grew by 2.1 GiB per hour",
        "lost   96 s of work ($1.60): checkpoint at step 9,120 is whole",
    ]


def test_work_without_a_checkpoint_is_lost_and_said_to_be() -> None:
    ending = an_ending("spot", "PRE-05", summary="spot reclaim or node shutdown", lost_seconds=7380.0)
    assert wording.death_lines(an_attempt(1, ending), policies())[-1] == (
        "lost   2 h 3 min of work: there is no checkpoint"
    )


def test_what_was_saved_in_time_lost_nothing() -> None:
    ending = an_ending("preemption", "PRE-01", lost_seconds=0.0, safe_step=7)
    assert wording.death_lines(an_attempt(1, ending), policies())[-1] == (
        "lost   nothing: checkpoint at step 7 is whole"
    )


def test_the_next_attempt_says_its_size_its_reason_and_where_it_goes_on() -> None:
    run = a_run(an_attempt(1, an_ending(safe_step=9120)))
    launch = Launch(number=2, size=Size(), why="320 GiB (peak 260 GiB + what it grows until the end)")
    assert wording.launch_line(launch, run) == (
        "attempt 2: 320 GiB (peak 260 GiB + what it grows until the end), from step 9,120"
    )
    unsaved = a_run(an_attempt(1, an_ending()))
    assert wording.launch_line(launch, unsaved).endswith("from the beginning")
    assert wording.launch_line(Launch(number=1, size=Size(), why="as planned"), a_run()) == ""


def test_resumed_and_finished_are_said_in_these_words() -> None:
    assert wording.resumed_line(an_attempt(2, from_step=9120)) == "resumed from step 9,120, running"
    assert wording.resumed_line(an_attempt(2, from_step=-1)) == "began anew, running"
    assert wording.resumed_line(an_attempt(1, from_step=-1)) == ""
    done = an_attempt(2, an_ending(None, step=1000), started=ago(7200))
    assert wording.finished(done, an_ending(None, step=1000)) == "finished at step 1,000 in 2 attempts"
    assert wording.finished(done, an_ending(None, step=1000, safe_step=999)).endswith("in 2 attempts")
    assert wording.finished(done, an_ending(None, step=1000, safe_step=900)).endswith(
        "in 2 attempts; its newest checkpoint is of step 900"
    )
    assert (
        wording.finish_line(a_run(done, price=60_000_000), "finished") == "finished, 2 h and $120.00 in all"
    )
    assert wording.finish_line(a_run(done), "finished") == "finished, 2 h in all"


def test_what_it_cost_in_all_counts_each_attempt_at_the_price_of_its_own_gpu() -> None:
    dead = an_attempt(1, an_ending("gpu_oom"), size=Size(gpu="h100"), started=ago(3600))
    done = an_attempt(2, an_ending(None, step=1000), size=Size(gpu="h200"), started=ago(3600))
    run = a_run(dead, done, price=60_000_000)
    dearer = Refit(micro_batch=None, accumulation=None, gpu="h200", price_per_hour=90_000_000)
    run = replace(run, launching=replace(run.launching, refits=(dearer,)))

    assert wording.finish_line(run, "finished") == "finished, 2 h and $150.00 in all"


def test_an_end_of_our_own_making_is_not_told_twice() -> None:
    ending = an_ending("deadline", "PRE-07", summary="deadline", step=16, safe_step=16, lost_seconds=0.2)
    ended = replace(an_attempt(1, ending), stopping="deadline")
    assert wording.death_lines(ended, policies()) == ["ended: step 16 is saved, nothing is lost"]
    stopped = replace(an_attempt(1, an_ending("stopped", "EXT-01")), stopping="stopped")
    assert wording.death_lines(stopped, policies()) == []


def test_a_refusal_after_a_told_death_does_not_repeat_it() -> None:
    refusal = GiveUp(why="KeyError: 'x'; code is not retried", brief="code is not retried", code="RUN-002")
    assert wording.given_up(refusal) == ["given up: code is not retried  RUN-002"]
    assert wording.given_up(GiveUp(why="stopped by its owner", hint="resume")) == [
        "stopped by its owner; resume"
    ]


def test_a_refusal_says_what_to_try() -> None:
    refusal = GiveUp(why="out of RAM at 13 GiB", hint="a larger node", code="RUN-010")
    assert wording.given_up(refusal) == ["given up: out of RAM at 13 GiB  RUN-010", "try    a larger node"]
