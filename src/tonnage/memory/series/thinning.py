"""A series of any length as at most 2,048 stretches of time, each with its lowest and highest value.

Leaks show in the lowest values and limits are met by the highest, so nothing that matters here is lost; what follows
costs the same for a thousand samples and for a million. `kept` is the line everything rests on: at each moment the
least that is held from then until the end, what has been taken by then and was never given back. It rises steadily
under a leak however high the saw teeth above it, jumps once for a level shift, bends for a warm-up and lies flat
below swings of any length that come down again.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from tonnage.memory.series.points import Point

MOST_STRETCHES = 2048


@dataclass(frozen=True, slots=True)
class Stretches:
    """A thinned series; all four have the same length."""

    times: list[float]
    """Seconds since the first measurement: differences stay exact, whatever the clock's own zero is."""
    lows: list[float]
    highs: list[float]
    kept: list[float]
    """The lowest value from here to the end."""

    @property
    def end(self) -> float:
        return self.times[-1]

    @property
    def span(self) -> float:
        return self.times[-1] - self.times[0]

    def at(self, seconds: float) -> int:
        """The first stretch at or after a moment; the last where there is none."""
        return min(bisect_left(self.times, seconds), len(self.times) - 1)

    def crest(self, begin: float, end: float) -> float:
        """The highest value between two moments."""
        first = self.at(begin)
        return max(self.highs[first : max(first + 1, bisect_left(self.times, end))])


def thin(series: Sequence[Point], most: int = MOST_STRETCHES) -> Stretches:
    """Thin a series that is sorted by time and not empty."""
    begin = series[0].seconds
    if len(series) <= most or series[-1].seconds <= series[0].seconds:
        values = [point.bytes for point in series]
        return _stretches([point.seconds - begin for point in series], values, values)
    per_second = most / (series[-1].seconds - begin)
    times: list[float] = []
    lows: list[float] = []
    highs: list[float] = []
    current = -1
    for seconds, value in series:
        place = int((seconds - begin) * per_second)
        if place != current:
            current = place
            times.append(seconds - begin)
            lows.append(value)
            highs.append(value)
        elif value < lows[-1]:
            lows[-1] = value
        elif value > highs[-1]:
            highs[-1] = value
    times[-1] = series[-1].seconds - begin  # the last stretch ends where the series does
    return _stretches(times, lows, highs)


def _stretches(times: list[float], lows: list[float], highs: list[float]) -> Stretches:
    kept = list(accumulate(reversed(lows), min))
    kept.reverse()
    return Stretches(times, lows, highs, kept)
