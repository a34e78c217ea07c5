"""When a leak reaches the limit, as a range: every pace it had, with every height its crests had above what is kept.

One pace and one height would give one figure and hide how unsure it is. So each window in which it leaks gives the
paces between all pairs of its nodes that lie a third of it apart (as Theil and Sen do, who take the median), and how
high the crests of twelve parts stood above the line of what is kept. Every pace with every height is one time to the
limit; p10, p50 and p90 are those of this crowd, each drawn apart by what the crowd cannot know: that the load above
the leak, or the pace, changes from now on. By how much was measured on the tuning half (docs/forecasting.md).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from tonnage.memory.series.leaking import Window
from tonnage.memory.series.thinning import Stretches

NODES = 12
FAR_APART = NODES // 3
QUARTER = NODES // 4
SLOWS = 0.85
"""Below this share of the first half's growth, only the second half says how fast it grows."""
WAITS = (0.05, 0.15, 0.3, 0.5, 0.8)
"""A crest that would be over the limit by now has not come again yet: it will within a quarter of the window."""
WINDOWS = 4
"""Windows that speak: the longest, the shortest and some between."""
CREST_STILL_TO_COME = 1.05
"""The line reaches the limit less a crest's height; then such a crest must come. Measured: some 5 % later."""
NEVER_LATER_THAN, NEVER_SOONER_THAN, LATER_POWER = 0.85, 1.2, 1.3
"""p10 is at most, and p90 at least, this share of p50; p90 is drawn further apart than the crowd says."""


@dataclass(frozen=True, slots=True)
class Until:
    """Seconds from the last measurement."""

    p10: float
    p50: float
    p90: float


def until_limit(stretches: Stretches, leaking: Sequence[Window], limit: float) -> Until:
    """The range of times to the limit; zero where it is reached."""
    if stretches.highs[-1] >= limit:
        return Until(0.0, 0.0, 0.0)
    chosen = _spaced(leaking)
    crowd = sorted(time for window in chosen for time in _times(stretches, window, limit))
    low, middle, high = (crowd[min(len(crowd) - 1, int(share * len(crowd)))] for share in (0.1, 0.5, 0.9))
    middle = max(middle, 1.0)
    likely = CREST_STILL_TO_COME * middle
    return Until(
        p10=likely * min(low / middle, NEVER_LATER_THAN),
        p50=likely,
        p90=likely * max((high / middle) ** LATER_POWER, NEVER_SOONER_THAN),
    )


def _spaced(leaking: Sequence[Window]) -> list[Window]:
    if len(leaking) <= WINDOWS:
        return list(leaking)
    last = len(leaking) - 1
    return [leaking[round(place * last / (WINDOWS - 1))] for place in range(WINDOWS)]


def _times(stretches: Stretches, window: Window, limit: float) -> list[float]:
    moments = [window.begin + window.settled_seconds * place / NODES for place in range(NODES + 1)]
    kept = [stretches.kept[stretches.at(moment)] for moment in moments]
    paces = _paces(moments, kept, slows=window.slowing < SLOWS)
    pace = paces[len(paces) // 2]
    # The line goes through the middle of what is kept, not through its last and least settled node.
    offsets = sorted(value - pace * (at - window.end) for value, at in zip(kept, moments, strict=True))
    level = offsets[len(offsets) // 2]
    heights = _heights(stretches, window, pace, level)
    again = (window.end - window.begin) / NODES * QUARTER
    return [
        (limit - level - height) / each if level + height < limit else again * WAITS[place % len(WAITS)]
        for each in paces[::2]
        for place, height in enumerate(heights)
    ]


def _paces(moments: Sequence[float], kept: Sequence[float], *, slows: bool) -> list[float]:
    """Bytes per second between nodes far apart, in order; of the second half alone where growth slows down."""
    first, apart = (NODES // 2, FAR_APART // 2) if slows else (0, FAR_APART)
    paces = sorted(
        (kept[later] - kept[earlier]) / (moments[later] - moments[earlier])
        for earlier, later in combinations(range(first, NODES + 1), 2)
        if later - earlier >= apart
    )
    # What did not grow between two nodes would take for ever; the slowest pace it had speaks for it.
    slowest = next(pace for pace in paces if pace > 0)
    return [max(pace, slowest) for pace in paces]


def _heights(stretches: Stretches, window: Window, pace: float, level: float) -> list[float]:
    """How far the crests stood above the line: the highest of every quarter, since a crest comes again."""
    length = window.end - window.begin
    parts = []
    for part in range(NODES):
        first = stretches.at(window.begin + length * part / NODES)
        last = max(first + 1, bisect_left(stretches.times, window.begin + length * (part + 1) / NODES))
        parts.append(
            max(
                high - level - pace * (at - window.end)
                for high, at in zip(stretches.highs[first:last], stretches.times[first:last], strict=True)
            )
        )
    return [max(parts[place : place + QUARTER]) for place in range(NODES - QUARTER + 1)]
