"""The judge of the proof sees every way in which a case can be wrong; otherwise it would prove nothing."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

import pytest
from survival.case import Injury
from survival.judging import ending_for, judge, lost_seconds
from survival.reporting import as_line, as_markdown
from tests.survival.survival_builders import START, a_survivor, an_attempt, steps


def test_a_training_that_came_back_as_it_should_is_proved() -> None:
    assert judge(a_survivor()) == []


def test_other_weights_are_seen() -> None:
    (wrong,) = judge(a_survivor(weights="x"))
    assert "weights" in wrong


def test_one_bit_of_one_loss_is_seen() -> None:
    journal = a_survivor().journal
    journal[-1] = replace(journal[-1], loss="other")
    (wrong,) = judge(a_survivor(journal=journal))
    assert "step 29" in wrong


def test_a_step_that_nobody_made_is_seen() -> None:
    journal = [*steps(1, 0, 15, at=0.0), *steps(2, 10, 19, at=10.0)]
    assert judge(a_survivor(journal=journal)) == ["1 steps were never made, the first is 29"]


def test_work_lost_beyond_the_last_due_checkpoint_is_seen() -> None:
    journal = [*steps(1, 0, 25, at=0.0), *steps(2, 2, 28, at=10.0)]
    (wrong,) = judge(a_survivor(journal=journal))
    assert "2.30 s of work lost" in wrong


def test_with_notice_nothing_may_be_lost() -> None:
    told = replace(a_survivor().injuries[0], has_notice=True)
    (wrong,) = judge(a_survivor(injuries=[told]))
    assert "s of work lost" in wrong


def test_work_of_an_attempt_counts_from_its_own_start() -> None:
    before, after = steps(2, 100, 5, at=50.0), steps(3, 100, 5, at=60.0)
    assert lost_seconds(before, after) == pytest.approx(0.5)


def test_a_torn_checkpoint_must_be_passed_over_for_exactly_the_one_before() -> None:
    torn = replace(a_survivor().injuries[0], resumes_at=frozenset((4,)))
    (wrong,) = judge(a_survivor(injuries=[torn]))
    assert "newest whole checkpoint was of step 4" in wrong


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"attempts": (an_attempt(1, "unknown", "APP-01"), an_attempt(2))}, "put down to APP-01"),
        ({"attempts": (an_attempt(1, "code", "UNKNOWN"), an_attempt(2))}, "its cause is code"),
        ({"attempts": ()}, "not in the history"),
        ({"records": {2: {}}}, "black box of attempt 1 is gone"),
        ({"left": ["cgroup x"]}, "left behind: cgroup x"),
        ({"state": "failed", "why": "no"}, "it is failed and should be finished: no"),
        ({"wrong": ["a case's own word"]}, "a case's own word"),
    ],
)
def test_what_is_missing_or_left_is_seen(changes: dict[str, object], says: str) -> None:
    assert any(says in wrong for wrong in judge(a_survivor(**changes)))


def test_the_same_oom_twice_is_seen_and_a_larger_one_is_not() -> None:
    ooms = [Injury(kind="oom", attempt=1, when=0.0)]
    same = tuple(an_attempt(n, "host_oom", "MEM-01", memory=2**20) for n in (1, 2))
    grown = (
        an_attempt(1, "host_oom", "MEM-01", memory=2**20),
        an_attempt(2, "host_oom", "MEM-01", memory=2**21),
    )
    smaller = tuple(an_attempt(n, "gpu_oom", "GPU-01e", micro_batch=8 // n) for n in (1, 2))
    assert any("same OOM" in wrong for wrong in judge(a_survivor(attempts=same, injuries=ooms)))
    assert not any("same OOM" in wrong for wrong in judge(a_survivor(attempts=grown, injuries=ooms)))
    assert not any("same OOM" in wrong for wrong in judge(a_survivor(attempts=smaller, injuries=ooms)))


def test_the_report_counts_what_is_proved_and_names_what_is_not() -> None:
    page = as_markdown([a_survivor(), a_survivor(weights="x")], START.date(), "python -m survival", 60.0)
    assert "2 deaths in 2 trainings; 1 trainings proved, 1 not" in page
    assert "## Not proved" in page
    assert "| rank | 2 | 0.50 s |" in page
    assert as_line(a_survivor(weights="x")).startswith("wrong")


def test_work_lost_inside_an_attempt_is_seen_where_a_controller_replaced_its_pod() -> None:
    """The pod was lost at step 24, and the one in its place went on from step 2, all of it attempt 1."""
    journal = [*steps(1, 0, 25, at=0.0), *steps(1, 2, 28, at=10.0)]
    (wrong,) = judge(a_survivor(journal=journal))
    assert "2.30 s of work lost" in wrong
    gentle = [*steps(1, 0, 15, at=0.0), *steps(1, 10, 20, at=10.0)]
    assert judge(a_survivor(journal=gentle)) == []


def test_a_death_that_a_controller_made_good_must_be_in_the_history_too() -> None:
    """The run finished in one attempt: what it outlived is found among the deaths of that attempt."""
    journal = [*steps(1, 0, 15, at=0.0), *steps(1, 10, 20, at=10.0)]
    crash = Injury(kind="node-crash", attempt=1, when=1.5, codes=frozenset(("PRE-04",)))
    silent = {"journal": journal, "injuries": [crash], "attempts": (an_attempt(1),)}
    assert judge(a_survivor(**silent)) == ["node-crash: this death of attempt 1 is not in the history"]
    ending = an_attempt(1, "node", "PRE-04").ending
    assert ending is not None
    outlived = replace(an_attempt(1), replaced={"uid": ending})
    assert judge(a_survivor(**{**silent, "attempts": (outlived,)})) == []


def test_of_two_deaths_in_one_attempt_the_nearest_in_time_is_meant() -> None:
    early, late = an_attempt(1, "node", "PRE-04").ending, an_attempt(1, "host_oom", "MEM-01").ending
    assert early is not None
    assert late is not None
    late = replace(late, when=START + dt.timedelta(seconds=60))
    attempt = replace(an_attempt(1), ending=late, replaced={"uid": early})
    injury = Injury(kind="oom", attempt=1, when=late.when.timestamp() + 2)
    assert ending_for(injury, [attempt]) == late
