"""A clock that was set, here or on a node, moves no duration: neither hang nor deadline comes from it."""

from __future__ import annotations

import datetime as dt

from hypothesis import given
from hypothesis import strategies as st
from tests.running.situations import NOW, a_situation, an_attempt, an_ending, policies

from tonnage.running.deciding import decide
from tonnage.running.observing import Observation, Progress, Saved
from tonnage.running.timelines import LATE, NONE, PATIENCE, Timeline
from tonnage_agent.steady import SteadyClock

HOUR = dt.timedelta(hours=1)
SECOND = dt.timedelta(seconds=1)


def a_look(written: dt.datetime, **more: object) -> Observation:
    """A healthy attempt as its agent dates it: a step and a save a moment before the record."""
    known = {"state": "running", "told_at": written, "since": written - 600 * SECOND, **more}
    progress = Progress(step=100, seconds_per_step=1.0, when=written - SECOND)
    return Observation(progress=progress, saved=Saved(step=90, when=written - 10 * SECOND), **known)  # type: ignore[arg-type]


def watched(ahead: dt.timedelta, looks: int = 3) -> tuple[Timeline, Observation]:
    """What a supervisor makes of an agent whose clock is behind ours by so much."""
    timeline = Timeline()
    for second in range(looks):
        seen = a_look(NOW + second * SECOND - ahead)
        timeline = timeline.seen(seen, NOW + second * SECOND)
    return timeline, seen


@given(st.integers(-20 * 86400, 20 * 86400))
def test_whatever_an_agents_clock_says_the_age_of_its_steps_is_right(seconds: int) -> None:
    timeline, seen = watched(dt.timedelta(seconds=seconds))
    ours = timeline.ours(seen)
    assert ours.progress is not None
    assert ours.progress.when is not None
    assert ours.saved is not None
    now = NOW + 2 * SECOND
    assert abs(now - ours.progress.when - SECOND) <= LATE
    assert abs(now - ours.saved.when - 10 * SECOND) <= LATE


def test_no_hang_is_seen_in_an_hour_that_never_was() -> None:
    for ahead in (HOUR, -HOUR):
        timeline, seen = watched(ahead)
        ours = timeline.ours(seen)
        situation = a_situation(an_attempt(), state="running", progress=ours.progress, since=ours.since)
        assert decide(situation, policies(), NOW) == ()


def test_a_record_that_was_there_already_is_not_taken_for_another_clock() -> None:
    left = a_look(NOW - 9 * HOUR)  # of an attempt that died in the night
    timeline = Timeline().seen(left, NOW)
    assert timeline.ahead == NONE
    assert not timeline.may_be_judged(left)
    for _ in range(PATIENCE):
        timeline = timeline.seen(left, NOW)
    assert timeline.may_be_judged(left)
    assert timeline.ours(left) == left
    assert Timeline().may_be_judged(Observation(state="ended", told_at=NOW))


def test_what_an_attempt_used_is_counted_by_one_clock() -> None:
    """Noted by the agents' clock before ours was set an hour ahead: ten minutes stay ten minutes."""
    timeline, seen = watched(HOUR)
    attempt = an_attempt(started=seen.since)
    started = timeline.started(attempt, seen.since)
    assert started is not None
    assert seen.since is not None
    assert started == seen.since + timeline.ahead
    again = an_attempt(started=started)
    assert timeline.started(again, seen.since) == started, "moved once"
    ending = an_ending("preemption", "PRE-01", when=NOW - HOUR)
    moved = timeline.ending_here(ending)
    assert moved is not None
    assert abs(moved.when - NOW) <= LATE
    assert timeline.theirs(again).started == seen.since


def test_the_time_of_day_may_be_set_and_a_steady_clock_goes_on() -> None:
    wall, elapsed = [1000.0], [5.0]
    clock = SteadyClock(lambda: wall[0], lambda: elapsed[0])
    assert clock.now() == 1000.0
    wall[0], elapsed[0] = 1000.0 - 3600, 15.0
    assert clock.now() == 1010.0
