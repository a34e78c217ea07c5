"""RAM that runs out before the end is raised without a restart, where its owner asked for it and the place can."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.running.situations import GIB, NOW, a_situation, ago, an_attempt, an_ending, policies

from tonnage.memory.series import Point
from tonnage.running.actions import RaiseInPlace, Save, Stop
from tonnage.running.attempts import Size
from tonnage.running.deciding import decide
from tonnage.running.forecasting import forecast_of
from tonnage.running.observing import Bounds, Forecast, Progress
from tonnage.running.policies import Policies
from tonnage.spec.loading import load_one
from tonnage.spec.run import Run

LEAK = Forecast(node=0, held=9 * GIB, growth_per_second=GIB / 600, soonest=480.0, seconds=600.0, latest=750.0)
ASKED = {"save_asked": ago(1)}  # for its checkpoint: only the raise is left to do
FREE = Bounds(memory=100 * GIB, memory_wall="largest node", can_resize_in_place=True)
GOING = Progress(step=100, total=2100, seconds_per_step=1.0, when=ago(1))


def decided(policy: dict[str, Any] | None = None, **more: Any) -> list[Any]:
    known = {"bounds": FREE, "forecast": LEAK, "progress": GOING, "state": "running", **ASKED, **more}
    allowed = policies(**{"on_forecast": "raise", "look_ahead_seconds": 1800.0, **(policy or {})})
    return list(decide(a_situation(an_attempt(), **known), allowed, NOW))


def test_it_gets_what_it_will_need_until_its_end() -> None:
    (action,) = decided()
    assert isinstance(action, RaiseInPlace)
    assert action.memory == pytest.approx(11 * GIB + 2000 / 600 * GIB, rel=0.01)
    assert action.why == (
        "raised in place to 14.3 GiB: RAM grows by 6 GiB per hour, and would have reached 10 GiB in 10 min"
    )


@pytest.mark.parametrize(
    ("policy", "more"),
    [
        ({"look_ahead_seconds": None}, {}),
        ({"look_ahead_seconds": 300.0}, {}),
        ({}, {"bounds": Bounds(memory=100 * GIB)}),
        ({}, {"bounds": Bounds(memory=11 * GIB, can_resize_in_place=True)}),
        ({"max_memory": 11 * GIB}, {}),
        ({}, {"forecast": None}),
        ({}, {"state": "stopping"}),
        ({}, {"progress": Progress(step=100, total=200, seconds_per_step=1.0, when=ago(1))}),
    ],
)
def test_nothing_is_raised_that_need_not_or_cannot_be(policy: dict[str, Any], more: dict[str, Any]) -> None:
    assert decided(policy, **more) == []


def test_a_wall_below_what_is_wanted_is_used_up_to_the_wall() -> None:
    (action,) = decided(bounds=Bounds(memory=13 * GIB, memory_wall="quota", can_resize_in_place=True))
    assert action.memory == 13 * GIB


def test_what_ends_a_run_comes_before_what_would_help_it() -> None:
    assert isinstance(decided({"deadline_seconds": 10.0}, ran_seconds=11.0)[0], Stop)


def test_the_raised_size_is_kept_by_what_comes_after() -> None:
    raised = an_attempt(1, an_ending("preemption", "PRE-01"), size=Size(memory=14 * GIB))
    (launch,) = decide(a_situation(raised), policies(), NOW)
    assert launch.size.memory == 14 * GIB


def test_a_checkpoint_is_asked_for_before_memory_is_raised() -> None:
    save, action = decided(save_asked=None)
    assert isinstance(save, Save)
    assert isinstance(action, RaiseInPlace)


def test_only_a_document_that_says_so_is_raised_ahead() -> None:
    def of(spec: str) -> tuple[str, float | None]:
        text = f"apiVersion: tonnage.dev/v1alpha1\nkind: Run\nmetadata: {{name: a}}\nspec: {{command: x, {spec}}}"
        found = Policies.of(load_one(text, "run.yaml", Run))
        return found.on_forecast, found.look_ahead_seconds

    assert of("priority: low") == ("checkpoint", 1800.0)
    assert of("onForecast: raise") == ("raise", 1800.0)
    assert of("onForecast: {action: raise, within: 5m}") == ("raise", 300.0)
    assert of("onForecast: raise, onOOM: fail") == ("checkpoint", 1800.0)


def test_a_warm_up_that_levels_off_is_no_forecast_and_a_leak_is() -> None:
    warm = [Point(second, min(second, 20) * GIB / 10) for second in range(100)]
    leak = [Point(second, 2 * GIB + second * GIB / 100) for second in range(100)]
    assert forecast_of({0: warm}, 10 * GIB) is None
    found = forecast_of({0: warm, 1: leak}, 10 * GIB)
    assert found is not None
    assert found.node == 1
    assert found.seconds == pytest.approx((10 - 2.99) * 100, rel=0.02)
    assert forecast_of({1: leak}, None) is None


@given(st.integers(1, 2**45), st.floats(1, 1e12), st.floats(0, 1e6), st.none() | st.integers(1, 2**45))
def test_a_raise_is_worth_it_and_below_every_wall(
    size: int, growth: float, seconds: float, wall: int | None
) -> None:
    forecast = Forecast(
        node=0, held=size, growth_per_second=growth, soonest=seconds, seconds=seconds, latest=seconds
    )
    bounds = Bounds(memory=wall, can_resize_in_place=True)
    situation = a_situation(
        an_attempt(size=Size(memory=size)), state="running", bounds=bounds, forecast=forecast,
        progress=GOING, **ASKED,
    )  # fmt: skip
    for action in decide(situation, policies(on_forecast="raise", look_ahead_seconds=1800.0), NOW):
        if isinstance(action, Save):
            continue
        assert isinstance(action, RaiseInPlace)
        assert action.memory >= 1.2 * size
        assert wall is None or action.memory <= wall
