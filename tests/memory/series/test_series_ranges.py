"""The range of times to the limit: its order, its truth on straight leaks, and what it does not depend on."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from tonnage.memory.series import Point
from tonnage.memory.series.forecasting import forecast
from tonnage.memory.series.leaking import needed_share
from tonnage.memory.series.thinning import MOST_STRETCHES, thin

GIB = 2.0**30
HOUR = 3600.0

measurements = st.lists(
    st.tuples(st.floats(-1e9, 1e9), st.floats(0, 1e15)), max_size=120, unique_by=lambda pair: pair[0]
)


def a_leak(
    rate: float, seed: int, *, hours: float = 8.0, count: int = 480, noise: float = 0.2
) -> list[Point]:
    """20 GiB and so many GiB per hour."""
    chance = random.Random(seed)
    moments = sorted(chance.uniform(0, hours * HOUR) for _ in range(count))
    return [Point(at, (20 + rate * at / HOUR + chance.uniform(0, noise)) * GIB) for at in moments]


@settings(max_examples=60, deadline=None)
@given(st.floats(1.0, 20.0), st.integers(0, 10**6))
def test_a_straight_leak_reaches_its_limit_within_the_range(rate: float, seed: int) -> None:
    limit = (20 + rate * 14) * GIB
    leak = a_leak(rate, seed)
    until = forecast(leak, limit).limit_in_seconds
    left = 14 * HOUR - leak[-1].seconds

    assert until is not None
    assert until.p10 <= left <= until.p90
    assert 0.85 < until.p50 / left < 1.2


@settings(max_examples=150, deadline=None)
@given(measurements, st.floats(1.0, 1e16))
def test_any_measurements_get_a_verdict_and_a_range_in_order(
    values: list[tuple[float, float]], limit: float
) -> None:
    found = forecast([Point(*pair) for pair in sorted(values)], limit)
    until = found.limit_in_seconds

    assert found.evidence
    assert (until is not None) or found.verdict != "leaking"
    if until is not None:
        assert 0 <= until.p10 <= until.p50 <= until.p90 < float("inf")


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.floats(-2e9, 2e9), st.floats(0.01, 100.0))
def test_neither_the_clock_nor_the_unit_of_memory_changes_the_verdict(
    seed: int, later: float, larger: float
) -> None:
    leak = a_leak(3.0, seed)
    moved = [Point(point.seconds + later, point.bytes * larger) for point in leak]
    one, other = forecast(leak, 64 * GIB), forecast(moved, 64 * GIB * larger)

    assert one.verdict == other.verdict
    if one.limit_in_seconds and other.limit_in_seconds:
        assert abs(one.limit_in_seconds.p50 - other.limit_in_seconds.p50) <= 0.02 * one.limit_in_seconds.p50


def test_a_million_measurements_say_the_same_as_a_thousand() -> None:
    few = [Point(n * 60.0, (20 + n / 40 + n % 7 / 10) * GIB) for n in range(1000)]
    many = [Point(n * 1.0, (20 + n / 2400 + n % 7 / 10) * GIB) for n in range(60_000)]
    one, other = forecast(few, 64 * GIB), forecast(many, 64 * GIB)

    assert len(thin(many).times) <= MOST_STRETCHES + 1
    assert one.verdict == other.verdict == "leaking"
    assert one.limit_in_seconds is not None
    assert other.limit_in_seconds is not None
    assert abs(one.limit_in_seconds.p50 / other.limit_in_seconds.p50 - 1) < 0.05


@given(st.lists(st.floats(0, 1e12), min_size=1, max_size=200))
def test_thinning_keeps_every_extreme(values: list[float]) -> None:
    thinned = thin([Point(float(place), value) for place, value in enumerate(values)], most=16)

    assert min(thinned.lows) == min(values)
    assert max(thinned.highs) == max(values)
    assert thinned.kept == sorted(thinned.kept)
    assert all(kept <= low for kept, low in zip(thinned.kept, thinned.lows, strict=True))


@given(st.floats(1.0, 1e7), st.floats(1.0, 1e7))
def test_the_longer_growth_lasts_the_less_of_it_is_needed(one: float, other: float) -> None:
    shorter, longer = sorted((one, other))

    assert needed_share(shorter) >= needed_share(longer) > 0
