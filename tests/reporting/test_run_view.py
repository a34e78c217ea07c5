"""What is known of a running training: its end, its trend, what it will cost."""

from __future__ import annotations

import datetime as dt

import pytest

from tonnage.reporting.run.finishing import finish_of
from tonnage.reporting.run.viewing import Courses, Limits, view_run
from tonnage.running.attempts import Attempt, Ending, Size
from tonnage.running.history import Launching, RunRecord
from tonnage.running.observing import MemoryNow, Observation, Progress

NOW = dt.datetime(2026, 11, 15, 12, tzinfo=dt.UTC)
MIB = 2**20


def ago(seconds: float) -> dt.datetime:
    return NOW - dt.timedelta(seconds=seconds)


def a_run(*attempts: Attempt, state: str = "active", price: int | None = None) -> RunRecord:
    launching = Launching(document="", price_per_hour=price)
    return RunRecord(
        id=1,
        name="bert",
        place="",
        created=ago(200),
        launching=launching,
        attempts=attempts,
        state=state,  # type: ignore[arg-type]
    )


def an_attempt(**changes: object) -> Attempt:
    return Attempt(number=1, size=Size(), created=ago(200), **{"started": ago(150), **changes})  # type: ignore[arg-type]


def test_the_end_lies_between_the_pace_of_its_steps_and_of_its_whole_life() -> None:
    progress = Progress(step=100, total=201, seconds_per_step=1.0, when=NOW)
    finish = finish_of(progress, an_attempt(), NOW)
    assert finish.seconds_left == pytest.approx(125.0)
    assert finish.within == pytest.approx(25.0)


def test_a_resumed_attempt_s_pace_counts_its_own_steps_only() -> None:
    progress = Progress(step=200, total=301, seconds_per_step=1.5, when=NOW)
    finish = finish_of(progress, an_attempt(from_step=100), NOW)
    assert (finish.seconds_left, finish.within) == (pytest.approx(150.0), pytest.approx(0.0))


@pytest.mark.parametrize(("slope", "growth"), [(MIB, pytest.approx(3600 * MIB, rel=0.05)), (0, 0)])
def test_growth_is_judged_on_what_cannot_be_given_back(slope: int, growth: object) -> None:
    needed = [(NOW.timestamp() - 60 + second, 50 * MIB + slope * second) for second in range(60)]
    seen = Observation(state="running", memory=MemoryNow(usage=110 * MIB, limit=200 * MIB))
    view = view_run(a_run(an_attempt()), seen, NOW, courses=Courses(needed=needed))
    assert view.memory is not None
    assert view.memory.growth_per_hour == growth


def test_too_short_a_course_says_nothing_about_growth() -> None:
    seen = Observation(state="running", memory=MemoryNow(usage=MIB, limit=2 * MIB))
    view = view_run(a_run(an_attempt()), seen, NOW, courses=Courses(needed=[(0.0, 1), (1.0, 2)]))
    assert view.memory is not None
    assert view.memory.growth_per_hour is None


def test_gpus_have_a_course_of_memory_and_of_activity_beside_ram() -> None:
    seen = Observation(
        state="running",
        memory=MemoryNow(usage=MIB),
        gpu_memory=MemoryNow(usage=41 * MIB, limit=80 * MIB),
        gpu_activity=93.0,
    )
    moments = [NOW.timestamp() - 200 + second for second in range(200)]
    courses = Courses(
        memory=[(when, 5) for when in moments],
        gpu_memory=[(when, 41 * MIB) for when in moments],
        gpu_activity=[(when, 90 + index % 5) for index, when in enumerate(moments)],
    )
    view = view_run(a_run(an_attempt()), seen, NOW, courses=courses)
    assert view.gpu_memory is not None
    assert view.gpu_memory.course == (41 * MIB,) * 120
    assert view.gpu_memory.growth_per_hour == 0
    assert len(view.gpu_activity_course) == 120
    assert view.memory is not None
    assert set(view.memory.course[:-1]) == {5}, "the last is what is held now"


def test_the_cost_at_the_end_follows_from_the_pace() -> None:
    seen = Observation(state="running", progress=Progress(step=49, total=150, seconds_per_step=3.0, when=NOW))
    view = view_run(
        a_run(an_attempt(started=ago(147)), price=3_600_000_000), seen, NOW, limits=Limits(budget=10)
    )
    assert view.spent == 147_000_000
    assert view.expected_cost == 447_000_000
    assert view.budget == 10


def test_what_an_earlier_attempt_saved_is_safe_before_the_next_one_saves() -> None:
    first = an_attempt(ending=Ending(when=ago(5), cause="host_oom", step=72, safe_step=69))
    second = Attempt(number=2, size=Size(), created=NOW)
    view = view_run(a_run(first, second), Observation(state="starting"), NOW)
    assert (view.safe_step, view.safe_since) == (69, None)


def test_a_run_that_is_over_is_told_from_its_history() -> None:
    ending = Ending(when=ago(5), cause="stopped", step=31, safe_step=30)
    view = view_run(a_run(an_attempt(ending=ending), state="stopped"), None, NOW, limits=Limits(steps=100))
    assert (view.step, view.total, view.safe_step, view.finishes) == (31, 100, 30, None)
