"""Which verdict each course of memory gets: leaks of every kind, and everything that only looks like one."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import pytest

from tonnage.memory.series import Point
from tonnage.memory.series.forecasting import SeriesForecast, forecast

GIB = 2.0**30
HOUR = 3600.0
LIMIT = 64 * GIB

Shape = Callable[[float], float]


def series(shape: Shape, *, hours: float = 12.0, step: float = 60.0, noise: float = 0.15) -> list[Point]:
    """A shape (hours to GiB), sampled with some noise."""
    chance = random.Random(11)
    count = int(hours * HOUR / step)
    return [
        Point(n * step, max(0.0, shape(n * step / HOUR) + chance.gauss(0, noise)) * GIB) for n in range(count)
    ]


def verdict_on(shape: Shape, **more: float) -> SeriesForecast:
    return forecast(series(shape, **more), LIMIT)


def spike(hour: float, every: float = 1.5, height: float = 15.0) -> float:
    return height if hour % every > every - 0.06 else 0.0


LEAKS: dict[str, Shape] = {
    "straight": lambda t: 20 + 2 * t,
    "every epoch keeps something": lambda t: 20 + 1.5 * math.floor(t / 0.75),
    "under saw teeth": lambda t: 20 + 1.8 * t + 6 * (t * 1.3 % 1),
    "under checkpoint spikes": lambda t: 20 + 1.6 * t + spike(t),
    "under a large swing": lambda t: 20 + 2 * t + 4 * math.sin(t * 2),
    "a collector's troughs rise": lambda t: 18 + 2 * t + 8 * (t * 0.8 % 1),
    "begins late": lambda t: 20 + 5 * max(0.0, t - 5),
    "after a warm-up": lambda t: 20 + 8 * (1 - math.exp(-t / 0.5)) + 2 * t,
    "after a level shift": lambda t: (20 if t < 2 else 26) + 2.2 * t,
    "accelerates": lambda t: 20 + 0.55 * t**1.5,
}
OTHERS: dict[str, tuple[Shape, str]] = {
    "flat": (lambda _: 20, "stable"),
    "saw teeth of epochs": (lambda t: 20 + 12 * (t * 0.7 % 1), "stable"),
    "the day's swing": (lambda t: 30 + 3 * math.sin(t * 2 * math.pi / 8), "stable"),
    "falling": (lambda t: 50 - 2 * t, "stable"),
    "warm-up that saturates": (lambda t: 15 + 30 * (1 - math.exp(-t / 2.5)), "warming up"),
    "page cache that fills ever more slowly": (lambda t: 10 + 12 * math.log1p(t), "warming up"),
    "a warm-up long over": (lambda t: 15 + 20 * (1 - math.exp(-t / 0.2)), "stable"),
    "level shift up": (lambda t: 20 if t < 7 else 34, "shifted"),
    "level shift down": (lambda t: 40 if t < 7 else 24, "shifted"),
    "checkpoint spikes": (lambda t: 20 + spike(t), "spiky"),
    "one spike": (lambda t: 20 + (30 if 6 < t < 6.05 else 0), "spiky"),
}


@pytest.mark.parametrize("name", LEAKS)
def test_a_leak_is_called_one(name: str) -> None:
    found = verdict_on(LEAKS[name])

    assert found.verdict == "leaking", found.evidence
    assert found.growth_per_second is not None
    assert found.growth_per_second > 0
    assert len(found.evidence) >= 3


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_no_leak_gets_its_own_name(name: str) -> None:
    shape, expected = OTHERS[name]
    found = verdict_on(shape)

    assert found.verdict == expected, found.evidence
    assert found.limit_in_seconds is None
    assert found.evidence


@pytest.mark.parametrize("name", OTHERS)
def test_no_moment_on_the_way_looks_like_a_leak(name: str) -> None:
    whole = series(OTHERS[name][0])

    assert [
        len(whole) * share // 20
        for share in range(3, 21)
        if forecast(whole[: len(whole) * share // 20], LIMIT).verdict == "leaking"
    ] == []


def test_a_leak_that_lasts_days_is_called_one_long_before_the_limit() -> None:
    found = verdict_on(lambda t: 10 + 0.2 * t, hours=96, step=600)

    assert found.verdict == "leaking"
    assert found.limit_in_seconds is not None
    assert found.limit_in_seconds.p10 > 48 * HOUR


def test_young_growth_is_a_warm_up_and_says_what_a_leak_would_be() -> None:
    found = verdict_on(lambda t: 20 + 1.0 * t, hours=6)

    assert found.verdict == "warming up"
    assert "would be called a leak" in found.evidence[1]


def test_what_came_down_before_is_expected_to_come_down_again() -> None:
    found = verdict_on(lambda t: 20 + 30 * (t / 4 % 1), hours=11.5)

    assert found.verdict != "leaking"


def test_what_died_at_its_limit_and_began_again_still_leaks() -> None:
    found = verdict_on(lambda t: 20 + 7.3 * (t % 6), hours=11.2)

    assert found.verdict == "leaking"


def test_spikes_have_height_number_and_phase() -> None:
    points = series(lambda t: 20 + spike(t, every=2.0, height=16.0))
    phases = ["checkpoint" if point.seconds / HOUR % 2.0 > 1.94 else "train" for point in points]
    found = forecast(points, LIMIT, phases)

    assert found.verdict == "spiky"
    assert found.phase == "checkpoint"
    assert found.spikes is not None
    assert found.spikes.count == 6
    assert found.spikes.height / GIB == pytest.approx(16, abs=1)
    assert found.spikes.seconds_between == pytest.approx(2 * HOUR, rel=0.05)
    assert any("checkpoint" in line for line in found.evidence)


def test_too_few_measurements_are_not_judged() -> None:
    few = series(LEAKS["straight"])[:23]

    assert forecast(few, LIMIT).verdict == "not enough data"
    assert forecast([], LIMIT).verdict == "not enough data"
    assert forecast([Point(1.0, 5.0)] * 40, LIMIT).verdict == "not enough data"


def test_what_is_at_its_limit_has_no_time_left() -> None:
    found = forecast(series(lambda _: 64.5, noise=0.0), LIMIT)

    assert found.limit_in_seconds is not None
    assert found.limit_in_seconds.p90 == 0.0
