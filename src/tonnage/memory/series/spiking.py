"""Spikes: short heights far above what is typical before, during and after them.

Measured against the highest typical value of three neighbouring parts, so that neither a level shift nor a warm-up
counts as one. A saw tooth is no spike: it is as often high as low, and its heights are within what is usual.
"""

from __future__ import annotations

import statistics
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from tonnage.memory.series.parting import Part
from tonnage.memory.series.points import Point
from tonnage.memory.series.thinning import Stretches

LEAST_OF_LIMIT = 0.05
THRESHOLD_OF_LIMIT = 0.03
SPREADS = 8.0
"""Times the usual distance from what is typical."""
MOST_OF_TIME = 0.25


@dataclass(frozen=True, slots=True)
class Spikes:
    """How high, how often, and for how much of the time."""

    height: float
    """Of the highest above what was typical around it, bytes."""
    count: int
    seconds_between: float | None
    """None where there was one only."""
    share_of_time: float
    moments: tuple[float, ...]
    """When each stood highest, in seconds since the first measurement."""


def spikes_of(stretches: Stretches, parts: Sequence[Part], limit: float) -> Spikes | None:
    """The spikes of a series, where it has some that matter."""
    excess = _excess(stretches, parts)
    middle = statistics.median(excess)
    usual = statistics.median(abs(each - middle) for each in excess)
    threshold = max(THRESHOLD_OF_LIMIT * limit, middle + SPREADS * usual)
    runs = _runs(excess, threshold)
    covered = sum(last - first for first, last in runs) / len(excess)
    if not runs or covered > MOST_OF_TIME:
        return None
    tops = [max(range(first, last), key=excess.__getitem__) for first, last in runs]
    height = max(excess[top] for top in tops)
    if height < LEAST_OF_LIMIT * limit:
        return None
    moments = tuple(stretches.times[top] for top in tops)
    between = (moments[-1] - moments[0]) / (len(moments) - 1) if len(moments) > 1 else None
    return Spikes(height, len(runs), between, covered, moments)


def phase_of(
    found: Spikes, series: Sequence[Point], phases: Sequence[str], stretch_seconds: float
) -> str | None:
    """The phase most of the spikes stood in; None where none is told."""
    times = [point.seconds - series[0].seconds for point in series]
    named: Counter[str] = Counter()
    for moment in found.moments:
        first = bisect_left(times, moment)
        last = max(first + 1, bisect_right(times, moment + stretch_seconds))
        top = max(range(first, min(last, len(series))), key=lambda place: series[place].bytes)
        if phases[top]:
            named[phases[top]] += 1
    return named.most_common(1)[0][0] if named else None


def _excess(stretches: Stretches, parts: Sequence[Part]) -> list[float]:
    """How far each stretch stands above what is typical of its part and of the parts beside it."""
    found: list[float] = []
    for place, part in enumerate(parts):
        typical = max(each.high for each in parts[max(0, place - 1) : place + 2])
        found += [high - typical for high in stretches.highs[part.first : part.last]]
    return found


def _runs(excess: Sequence[float], threshold: float) -> list[tuple[int, int]]:
    """Where it stands above the threshold without a pause: first and one past the last."""
    runs, first = [], None
    for place, value in enumerate(excess):
        if value > threshold:
            first = place if first is None else first
        elif first is not None:
            runs.append((first, place))
            first = None
    if first is not None and len(excess) - first < len(excess) // 24:
        runs.append((first, len(excess)))
    return runs
