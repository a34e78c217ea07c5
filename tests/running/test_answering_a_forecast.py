"""RAM that is seen to run out: its owner is told, its work is saved while there is time, or it is stopped."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.running.situations import GIB, NOW, a_situation, ago, an_attempt, an_ending, policies

from tonnage.memory.series import Point, reach_of
from tonnage.running.actions import GiveUp, Save, Stop, Tell
from tonnage.running.deciding import decide
from tonnage.running.forecasting import SAVE_SECONDS
from tonnage.running.observing import Bounds, Forecast, Progress, Saved

GOING = Progress(step=100, total=2100, seconds_per_step=1.0, when=ago(1))
FREE = Bounds(memory=100 * GIB, can_resize_in_place=True)


def a_leak(soonest: float = 480.0, latest: float = 750.0) -> Forecast:
    return Forecast(
        node=0, held=9 * GIB, growth_per_second=GIB / 600, soonest=soonest, seconds=soonest, latest=latest
    )


def decided(action: str, **more: Any) -> list[Any]:
    known = {"bounds": FREE, "forecast": a_leak(), "progress": GOING, "state": "running", **more}
    allowed = policies(on_forecast=action, look_ahead_seconds=1800.0)
    return list(decide(a_situation(an_attempt(), **known), allowed, NOW))


def test_a_warning_says_how_fast_it_grows_and_between_when_and_when_it_ends() -> None:
    (told,) = decided("warn")
    assert isinstance(told, Tell)
    assert told.text == "RAM grows by 6 GiB per hour and reaches its limit of 10 GiB in 8 min to 12 min"


def test_a_warning_is_one_key_for_one_size_of_one_attempt() -> None:
    (first,) = decided("warn")
    (again,) = decided("warn", forecast=a_leak(400.0))
    assert first.key == again.key
    assert decided("warn", told=frozenset((first.key,))) == []


@pytest.mark.parametrize(
    ("forecast", "words"),
    [
        (a_leak(480.0, math.inf), "in 8 min at the earliest"),
        (a_leak(480.0, 481.0), "in 8 min"),
        (a_leak(0.0, 0.0), "now"),
        (a_leak(0.0, 90.0), "in no time to 90 s"),
    ],
)
def test_a_range_is_told_as_far_as_it_is_known(forecast: Forecast, words: str) -> None:
    assert decided("warn", forecast=forecast)[0].text.endswith(words)


@pytest.mark.parametrize("action", ["warn", "checkpoint", "raise", "stop"])
@pytest.mark.parametrize(
    "more",
    [
        {"forecast": None},
        {"forecast": a_leak(1801.0)},
        {"state": "starting"},
        {"progress": Progress(step=100, total=200, seconds_per_step=1.0, when=ago(1))},
    ],
)
def test_nothing_is_done_about_what_is_far_or_after_the_end(action: str, more: dict[str, Any]) -> None:
    assert decided(action, **more) == []


def test_a_checkpoint_is_asked_for_as_soon_as_the_end_is_seen() -> None:
    assert [type(each) for each in decided("checkpoint")] == [Save]


def test_it_is_asked_for_again_when_more_is_unsaved_than_there_is_time_left() -> None:
    def asked(saved: float, left: float) -> bool:
        found = decided(
            "checkpoint",
            saved=Saved(step=90, when=ago(saved), seconds=1.0),
            save_asked=ago(saved + 2),
            forecast=a_leak(left),
        )
        return any(isinstance(each, Save) for each in found)

    assert not asked(saved=200, left=480)
    assert asked(saved=481, left=480)
    assert asked(saved=61, left=60)
    assert not asked(saved=SAVE_SECONDS - 1, left=0)


def test_saves_that_take_long_are_not_asked_for_all_the_time() -> None:
    slow = Saved(step=90, when=ago(100), seconds=60.0)
    assert decided("checkpoint", saved=slow, save_asked=ago(160), forecast=a_leak(10.0)) == []


def test_where_nothing_can_be_raised_the_work_is_saved_all_the_same() -> None:
    assert [type(each) for each in decided("raise", bounds=Bounds(memory=10 * GIB))] == [Save]


def test_a_stop_has_a_cause_of_its_own_and_is_not_retried() -> None:
    (stop,) = decided("stop")
    assert isinstance(stop, Stop)
    assert stop.cause == "forecast"
    over = an_attempt(1, an_ending("forecast", "EXT-01", safe_step=100), stopping="forecast")
    (action,) = decide(a_situation(over), policies(), NOW)
    assert isinstance(action, GiveUp)
    assert "onForecast: raise" in action.hint
    assert "goes on from step 100" in action.hint


def test_a_hang_is_noticed_although_a_checkpoint_is_asked_for() -> None:
    still = Progress(step=100, total=10**6, seconds_per_step=1.0, when=ago(7200))
    assert [type(each) for each in decided("checkpoint", progress=still)] == [Save, Stop]


NOISE = st.lists(st.floats(-1, 1), min_size=120, max_size=120)


@given(NOISE, st.floats(0.6, 0.99))
def test_the_surer_it_must_be_the_wider_the_range(noise: list[float], confidence: float) -> None:
    series = [Point(10.0 * i, GIB + i * GIB / 100 + each * GIB / 50) for i, each in enumerate(noise)]
    narrow, wide = (
        reach_of(series, 10 * GIB, confidence=0.55),
        reach_of(series, 10 * GIB, confidence=confidence),
    )
    assert (narrow is None) == (wide is None)
    if narrow is not None and wide is not None:
        assert wide.soonest <= narrow.soonest <= narrow.likely <= narrow.latest <= wide.latest
