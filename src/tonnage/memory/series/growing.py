"""Whether memory grows, and how fast: Theil-Sen on the troughs, with the tests that tell a leak from a warm-up.

    slope        median of the slopes between all pairs of troughs (Theil 1950, Sen 1968): one spike, one level shift
                 or a late save moves it little
    trend        Mann-Kendall: do later troughs lie above earlier ones more often than chance allows (p < 0.01)
    enough       at least 3 % of the limit (of the peak where there is none) and 4 times the scatter around the line
    still going  the last half grows at no less than half of the whole's slope: a warm-up that levels off does not
    no jump      no single step between neighbours makes up more than half of the rise: a lone level shift is no leak

Valid for regular or irregular sampling from 12 points on; fewer give no growth. References: failures of linear-trend
alerts and what replaces them were measured on real pod series, on which forecasting will be proven.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from tonnage.memory.series.points import Point, peak, troughs

LEAST_POINTS = 12
STRETCHES = 24
LEAST_SHARE = 0.03
SCATTER_TIMES = 4.0
STILL_SHARE = 0.5
JUMP_SHARE = 0.5
MANN_KENDALL_Z = 2.326
"""One-sided p < 0.01."""


@dataclass(frozen=True, slots=True)
class Growth:
    """How memory develops."""

    bytes_per_second: float
    """Theil-Sen slope of the troughs, whether it counts as growth or not."""
    is_growing: bool
    why: str
    """Which test decided, for people: `grows`, `levels off`, `one jump`, `too little`, `no trend`, `too short`."""


def growth_of(series: Sequence[Point], *, limit: float | None = None) -> Growth:
    """Whether a series grows, and its slope."""
    if len(series) < LEAST_POINTS:
        return Growth(0.0, False, "too short")
    low = troughs(series, min(STRETCHES, len(series) // 2))
    slope = theil_sen(low)
    if why := _objection(series, low, slope, limit):
        return Growth(slope, False, why)
    return Growth(slope, True, "grows")


def theil_sen(series: Sequence[Point]) -> float:
    """The median slope between all pairs, bytes per second.

    >>> line = [Point(second, 2 * second) for second in range(9)]
    >>> theil_sen(line), theil_sen([*line, Point(9, 1000)])
    (2.0, 2.0)
    """
    slopes = slopes_between(series)
    return statistics.median(slopes) if slopes else 0.0


def slopes_between(series: Sequence[Point]) -> list[float]:
    """The slope between each pair of points."""
    return [
        (later.bytes - earlier.bytes) / (later.seconds - earlier.seconds)
        for position, earlier in enumerate(series)
        for later in series[position + 1 :]
        if later.seconds > earlier.seconds
    ]


def mann_kendall_z(values: Sequence[float]) -> float:
    """Mann-Kendall's statistic in standard deviations; positive where later values lie above earlier ones."""
    count = len(values)
    score = sum(
        (later > earlier) - (later < earlier)
        for position, earlier in enumerate(values)
        for later in values[position + 1 :]
    )
    ties = [values.count(value) for value in set(values)]
    variance = (count * (count - 1) * (2 * count + 5) - sum(t * (t - 1) * (2 * t + 5) for t in ties)) / 18
    if variance <= 0 or score == 0:
        return 0.0
    return (score - math.copysign(1, score)) / math.sqrt(variance)


def _objection(series: Sequence[Point], low: Sequence[Point], slope: float, limit: float | None) -> str:
    """The first test the series fails; empty where it passes all."""
    if len(low) < LEAST_POINTS // 2 or slope <= 0 or mann_kendall_z([p.bytes for p in low]) < MANN_KENDALL_Z:
        return "no trend"
    rise = slope * (low[-1].seconds - low[0].seconds)
    if rise < LEAST_SHARE * (limit or peak(series) or 0) or rise < SCATTER_TIMES * _scatter(low, slope):
        return "too little"
    if theil_sen(low[len(low) // 2 :]) < STILL_SHARE * slope:
        return "levels off"
    jumps = [later.bytes - earlier.bytes for earlier, later in pairwise(low)]
    if max(jumps) > JUMP_SHARE * (low[-1].bytes - low[0].bytes):
        return "one jump"
    return ""


def _scatter(low: Sequence[Point], slope: float) -> float:
    """Median distance of the troughs from the line."""
    rest = [point.bytes - slope * point.seconds for point in low]
    middle = statistics.median(rest)
    return statistics.median(abs(each - middle) for each in rest)
