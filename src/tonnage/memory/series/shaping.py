"""Level shifts and warm-ups: growth that is over, or that will be before it matters.

shifted     two levels explain the series: the typical lows before and after one moment differ by more than 3 % of
            the limit and four times the scatter around them, and most of the difference came within a twelfth of
            the time
warming up  it has risen, mostly early, and slows down so that it would end below the limit; or it grows and has
            used up too little of its room to be called a leak yet
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from tonnage.memory.series.leaking import Window
from tonnage.memory.series.parting import Part

LEAST_OF_LIMIT = 0.03
SCATTERS = 4.0
AT_ONCE = 0.7
LEVEL = 0.15
EDGE = 2
"""Parts a level must last to be one."""
MOSTLY = 0.9
LONG_AGO = 0.2
SLOWER = 0.67


@dataclass(frozen=True, slots=True)
class Shift:
    """One step from one level to another."""

    at: float
    """Seconds since the first measurement."""
    before: float
    after: float

    @property
    def size(self) -> float:
        return self.after - self.before


@dataclass(frozen=True, slots=True)
class Rise:
    """Growth that is no leak, or not yet one."""

    bytes: float
    until: float
    """When nine tenths of it had come."""
    is_over_long_ago: bool
    slows: bool


def shift_of(parts: Sequence[Part], limit: float) -> Shift | None:
    """The step that explains the series best, where one does."""
    lows = [part.low for part in parts]
    if len(lows) < 2 * EDGE + 1:
        return None
    place = min(range(EDGE, len(lows) - EDGE + 1), key=lambda at: _scatter(lows[:at]) + _scatter(lows[at:]))
    before, after = statistics.median(lows[:place]), statistics.median(lows[place:])
    size = after - before
    apart = [abs(low - before) for low in lows[:place]] + [abs(low - after) for low in lows[place:]]
    if abs(size) < max(LEAST_OF_LIMIT * limit, SCATTERS * statistics.median(apart)):
        return None
    sides = (_scatter(lows[:place]) / place, _scatter(lows[place:]) / (len(lows) - place))
    if max(sides) > LEVEL * abs(size):
        return None  # it was on its way before or after: a bend, not a step
    step = lows[min(place + 1, len(lows) - 1)] - lows[max(place - 2, 0)]
    return Shift(parts[place].begin, before, after) if step / size >= AT_ONCE else None


def rise_of(parts: Sequence[Part], whole: Window, limit: float) -> Rise | None:
    """A rise from the begin to the end, where there is one."""
    lows = [part.low for part in parts]
    edge = max(1, len(lows) // 12)
    first, last = min(lows[:edge]), statistics.median(lows[-3 * edge :])
    size = last - first
    wobble = statistics.median(abs(later - earlier) for earlier, later in pairwise(lows))
    if size < max(LEAST_OF_LIMIT * limit, SCATTERS * wobble):
        return None
    until = next(part.end for part in parts if part.low >= first + MOSTLY * size)
    is_over = until - parts[0].begin <= LONG_AGO * (parts[-1].end - parts[0].begin)
    return Rise(size, until, is_over, whole.slowing < SLOWER)


def _scatter(values: Sequence[float]) -> float:
    middle = statistics.median(values)
    return sum(abs(value - middle) for value in values)
