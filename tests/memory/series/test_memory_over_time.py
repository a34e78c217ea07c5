"""Peaks, leaks and what only looks like one: saw teeth, warm-ups, jumps, spikes and noise."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tonnage.memory.series import Point, growth_of, peak, seconds_to, troughs

GIB = 2.0**30
HOUR = 3600.0


def series(
    shape, *, hours: float = 6.0, step: float = 60.0, noise: float = 0.0, seed: int = 7
) -> list[Point]:
    """A shape (hours to GiB) sampled every minute with some noise."""
    chance = random.Random(seed)
    count = int(hours * HOUR / step)
    return [Point(n * step, (shape(n * step / HOUR) + chance.gauss(0, noise)) * GIB) for n in range(count)]


SHAPES = {
    "flat": lambda _: 20.0,
    "saw teeth of batches": lambda t: 20.0 + 4.0 * (t * 12 % 1),
    "a warm-up that levels off": lambda t: 30.0 - 10.0 * math.exp(-t / 0.7),
    "one jump": lambda t: 20.0 if t < 3.1 else 26.0,
    "checkpoint spikes": lambda t: 20.0 + (15.0 if t % 1.0 > 0.97 else 0.0),
    "falling": lambda t: 30.0 - t,
}
LEAKS = {
    "a straight leak": lambda t: 20.0 + 1.5 * t,
    "a leak under saw teeth": lambda t: 20.0 + 1.5 * t + 4.0 * (t * 12 % 1),
    "a leak with every epoch": lambda t: 20.0 + 0.75 * math.floor(2 * t),
    "a leak under checkpoint spikes": lambda t: 20.0 + 1.5 * t + (15.0 if t % 1.0 > 0.97 else 0.0),
}


@pytest.mark.parametrize("name", SHAPES)
def test_what_is_no_leak_is_not_called_one(name: str) -> None:
    assert not growth_of(series(SHAPES[name], noise=0.1), limit=64 * GIB).is_growing, name


@pytest.mark.parametrize("name", LEAKS)
def test_a_leak_is_found_and_measured(name: str) -> None:
    growth = growth_of(series(LEAKS[name], noise=0.1), limit=64 * GIB)
    assert growth.is_growing, growth.why
    assert growth.bytes_per_second * HOUR / GIB == pytest.approx(1.5, rel=0.1)


@given(st.floats(0.3, 20.0), st.integers(0, 10**6))
def test_a_straight_leak_reaches_its_limit_when_it_says(rate: float, seed: int) -> None:
    leak = series(lambda t: 20.0 + rate * t, noise=0.02, seed=seed)
    limit = 20.0 + rate * 12.0
    left = seconds_to(leak, limit * GIB)
    assert left is not None
    assert left / HOUR == pytest.approx(6.0, rel=0.15)


@given(st.lists(st.tuples(st.floats(0, 1e6), st.floats(0, 1e12)), max_size=60))
def test_any_measurements_are_answered(values: list[tuple[float, float]]) -> None:
    points = [Point(*pair) for pair in sorted(values)]
    assert growth_of(points).why
    assert peak(points) == max((point.bytes for point in points), default=None)
    assert len(troughs(points, 5)) <= 5
    assert seconds_to(points, 1e13) is None or seconds_to(points, 1e13) >= 0


def test_what_is_at_its_limit_has_reached_it() -> None:
    assert seconds_to(series(SHAPES["flat"]), 19 * GIB) == 0.0
    assert seconds_to(series(SHAPES["flat"]), 40 * GIB) is None
    assert seconds_to([], GIB) is None
