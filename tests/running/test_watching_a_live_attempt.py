"""A live attempt: wishes, deadline, budget, waiting and hanging."""

from __future__ import annotations

from typing import Any

import pytest
from tests.running.situations import NOW, a_situation, ago, an_attempt, an_ending, policies

from tonnage.running.actions import GiveUp, Launch, Record, Stop, Suspend, Tell
from tonnage.running.attempts import Size
from tonnage.running.deciding import decide, needs_ending
from tonnage.running.observing import Progress


def decided(
    *attempts: Any, state: str = "running", policy: dict[str, Any] | None = None, **more: Any
) -> list[Any]:
    return list(decide(a_situation(*attempts, state=state, **more), policies(**(policy or {})), NOW))


def test_nothing_is_done_to_an_attempt_that_runs_well() -> None:
    assert decided(an_attempt(), progress=Progress(step=5, seconds_per_step=1.0, when=ago(3))) == []


def test_the_first_attempt_has_the_planned_size() -> None:
    assert decided(state="absent", first_size=Size(memory=7)) == [
        Launch(number=1, size=Size(memory=7), why="as planned")
    ]


def test_a_launch_that_was_written_down_and_not_carried_out_is_asked_for_again() -> None:
    unborn = an_attempt(2, started=None, why="more")
    assert decided(unborn, state="absent") == [Launch(number=2, size=unborn.size, why="more")]


def test_an_attempt_that_ran_and_is_gone_waits_to_be_explained() -> None:
    situation = a_situation(an_attempt(), state="absent")
    assert needs_ending(situation.attempts[-1], situation.observation)
    assert decided(an_attempt(), state="absent") == []


def test_its_owner_stops_it_and_an_unexplained_end_is_then_that_stop() -> None:
    assert decided(an_attempt(), wish="stop") == [Stop(why="stopping: its owner asked")]
    assert decided(an_attempt(), state="stopping", wish="stop") == []
    record, last = decided(an_attempt(), state="ended", wish="stop", ending=an_ending("unknown", "UNKNOWN"))
    assert record.ending.cause == "stopped"
    assert isinstance(last, GiveUp)
    assert "resume bert" in last.hint


def test_a_finished_run_is_finished_even_if_its_owner_just_stopped_it() -> None:
    actions = decided(an_attempt(), state="ended", wish="stop", ending=an_ending(None))
    assert [type(action).__name__ for action in actions] == ["Record", "Finish"]


def test_suspended_by_its_owner_it_rests_until_it_is_resumed() -> None:
    assert decided(an_attempt(), wish="suspend") == [Suspend(why="suspended by its owner")]
    record, rest = decided(an_attempt(), state="suspended", wish="suspend")
    assert record == Record(attempt=an_attempt(), ending=record.ending)
    assert (record.ending.cause, rest) == ("stopped", Suspend(why="suspended by its owner"))
    resumed = decided(an_attempt(1, record.ending), wish="run")
    assert resumed == [Launch(number=2, size=an_attempt().size, why="resumed by its owner")]


def test_the_deadline_counts_all_attempts_together() -> None:
    policy = {"deadline_seconds": 7200.0, "written": {"deadline": "2h"}}
    assert decided(an_attempt(), ran_seconds=7199.0, policy=policy) == []
    (stop,) = decided(an_attempt(), ran_seconds=7201.0, policy=policy)
    assert (stop.cause, stop.why) == ("deadline", "deadline: it has run 2 h of 2h")


def test_money_is_warned_of_once_and_stopped_at_the_wall() -> None:
    policy = {"budget": 100_000_000}
    (warned,) = decided(an_attempt(), spent=85_000_000, policy=policy)
    assert warned == Tell(text="budget: $85.00 of $100.00 spent", key="budget-warn")
    assert decided(an_attempt(), spent=85_000_000, policy=policy, told=frozenset({"budget-warn"})) == []
    (stop,) = decided(an_attempt(), spent=100_000_000, policy=policy)
    assert (stop.cause, stop.why) == ("budget", "budget: $100.00 of $100.00 spent")


@pytest.mark.parametrize(("exceed", "first"), [("suspend", Suspend), ("warn", Tell)])
def test_the_document_says_what_happens_at_the_budgets_wall(exceed: str, first: type) -> None:
    actions = decided(an_attempt(), spent=100, policy={"budget": 100, "on_exceed": exceed})
    assert isinstance(actions[0], first)


def test_a_run_that_waited_too_long_is_suspended_and_its_owner_told_who_held_it() -> None:
    policy = {"max_wait_seconds": 3600.0}
    waiting = {"state": "waiting", "since": ago(3601), "held_by": "quota team-walls"}
    (suspend,) = decided(an_attempt(started=None), policy=policy, **waiting)
    assert isinstance(suspend, Suspend)
    assert suspend.why == (
        "suspended: it waited 60 min (maxWait), held by quota team-walls; it holds nothing now; "
        "`tonnage resume bert` tries again"
    )
    assert decided(an_attempt(started=None), policy=policy, **{**waiting, "since": ago(3599)}) == []


def test_a_hang_is_judged_by_its_own_steps() -> None:
    slow = Progress(step=40, seconds_per_step=120.0, when=ago(2300))
    assert decided(an_attempt(), progress=slow) == []
    quick = Progress(step=40, seconds_per_step=1.0, when=ago(2300))
    (stop,) = decided(an_attempt(), progress=quick)
    assert (stop.cause, stop.why) == ("hang", "no step for 38 min after step 40; a step takes 1 s")


def test_an_evaluation_makes_no_steps_and_is_no_hang() -> None:
    evaluating = Progress(step=40, seconds_per_step=1.0, when=ago(2300), phase="eval")
    assert decided(an_attempt(), progress=evaluating) == []


def test_without_steps_nothing_is_called_a_hang() -> None:
    assert decided(an_attempt(), progress=None) == []
    assert decided(an_attempt(), progress=Progress(step=0, when=ago(10**6))) == []


def test_an_end_is_waited_for_until_it_is_explained() -> None:
    assert decided(an_attempt(), state="ended") == []
