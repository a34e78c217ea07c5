"""A series cut into equal parts of time, each with its typical low and high: what shapes are read from.

A median of each part sees through noise and short spikes, and a few dozen of them are enough to tell a step from a
bend.
"""

from __future__ import annotations

import statistics
from bisect import bisect_left
from dataclasses import dataclass

from tonnage.memory.series.thinning import Stretches

PARTS = 24


@dataclass(frozen=True, slots=True)
class Part:
    """One part of the time: where its stretches lie, and what is typical of it."""

    begin: float
    end: float
    first: int
    last: int
    """Stretches first <= place < last."""
    low: float
    high: float


def parts_of(stretches: Stretches, count: int = PARTS) -> list[Part]:
    """The parts that hold anything, in order of time."""
    begin, width = stretches.times[0], stretches.span / count
    if width <= 0:
        return []
    found, first = [], 0
    for place in range(1, count + 1):
        end = stretches.end if place == count else begin + place * width
        last = len(stretches.times) if place == count else bisect_left(stretches.times, end)
        if last > first:
            low = statistics.median(stretches.lows[first:last])
            high = statistics.median(stretches.highs[first:last])
            found.append(Part(end - width, end, first, last, low, high))
        first = last
    return found
