"""Whether memory leaks: growth that was never given back, spread over the time, and worth the room it has used up.

Asked of windows that all end now, from the whole series down to its last twentieth: a leak may have begun late, or
after a warm-up, a restart or a level shift. In each window the line of what is kept (`thinning`) must pass five tests.

    enough       growth has used up a share of the room there was below the limit: 75 % of it where it lasted an hour,
                 60 % for three, 45 % for eight, 28 % for a day and a half; at least 2 % of the limit, and an eighth
                 of what the crests stand above it: under tall spikes a little growth is no news.
                 Training has phases of an hour (loading, the first epoch, compiling); what lasts longer is no phase.
    spread       each third of the window has at least half of its fair share of the growth. A level shift has all of
                 it in one third, a saw tooth in its last.
    still going  if it slows down from half to half, it would reach the limit even if it went on slowing down so: the
                 sum of the halves to come, g r + g r^2 + ..., is more than the room. A warm-up ends below the limit.
    new ground   its crests stand above those before the window by a quarter of the growth: what has been as high
                 and came down again will do so once more. Crests at the limit do not count, it died there.
    steady       the second half grows at most 2.2 times as much as the first: a jump at the end is not a pace.

The last tenth of a window does not count as kept: what was taken there may still be given back.

Shares and factors were chosen on one half of real and of made series and judged on the other (`foresight/`,
docs/forecasting.md). No number of samples is assumed beyond the least; irregular sampling is fine.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from tonnage.memory.series.thinning import Stretches

HOUR = 3600.0
LEAST_POINTS = 24
WINDOW_POINTS = 48
"""Fewest stretches in a window that is not the whole."""
SHRINK, SHORTEST = 0.8, 0.05
SETTLED = 0.9
"""The share of a window whose line of what is kept is believed."""
PARTS = 6

SHARE_MOST, SHARE_SHORT, SHORT_HOURS, SHARE_POWER = 0.75, 0.6, 3.0, 0.3
LEAST_OF_LIMIT, LEAST_OF_SWING = 0.02, 0.125
LEAST_THIRD = 0.5
MOST_SPEEDUP = 2.2
STEADY = 0.95
"""From this share of the first half's growth on, the second does not count as slowing down."""
NEW_GROUND = 0.25
DIED_AT = 0.97
"""From this share of the limit on, a crest of old is one it may have died of, not one it came down from."""
RECENT = 0.4
"""The share of a window in which its crests are looked for."""


@dataclass(frozen=True, slots=True)
class Window:
    """What a window that ends now shows; bytes and seconds."""

    begin: float
    end: float
    line: tuple[float, ...]
    """What is kept at the ends of six equal parts of its settled time."""
    crest: float
    """The highest of late."""
    before: float = 0.0
    """The highest ever before it begins."""

    @property
    def growth(self) -> float:
        return self.line[-1] - self.line[0]

    @property
    def settled_seconds(self) -> float:
        return SETTLED * (self.end - self.begin)

    @property
    def halves(self) -> tuple[float, float]:
        middle = self.line[PARTS // 2]
        return middle - self.line[0], self.line[-1] - middle

    @property
    def slowing(self) -> float:
        """Growth of the second half over that of the first."""
        first, second = self.halves
        return second / first if first > 0 else float("inf")

    def still_to_come(self) -> float:
        """How much more it grows if it goes on slowing down as it does; endless where it does not."""
        ratio = self.slowing
        return float("inf") if ratio >= STEADY else self.halves[1] * ratio / (1 - ratio)


def windows(stretches: Stretches) -> Iterator[Window]:
    """Windows that end now, the whole series first."""
    width, count = stretches.span, len(stretches.times)
    while width > 0:
        is_whole = width == stretches.span
        first = 0 if is_whole else stretches.at(stretches.end - width)
        if count - first < (LEAST_POINTS if is_whole else WINDOW_POINTS):
            return
        yield _window(stretches, first)
        width *= SHRINK
        if width < SHORTEST * stretches.span:
            return


def leaks(stretches: Stretches, limit: float) -> list[Window]:
    """The windows in which it leaks; none where it does not."""
    return [window for window in windows(stretches) if not objection(window, limit)]


def objection(window: Window, limit: float) -> str:
    """The first test a window fails, in a word; empty where it leaks."""
    growth, room = window.growth, max(0.0, limit - window.crest)
    swing = window.crest - window.line[-1]
    if growth <= 0 or growth < max(LEAST_OF_LIMIT * limit, LEAST_OF_SWING * swing):
        return "level"
    thirds = [window.line[end] - window.line[end - 2] for end in (2, 4, 6)]
    if min(thirds) < LEAST_THIRD * growth / 3:
        return "in one part"
    if window.still_to_come() < room:
        return "slows down"
    if window.slowing > MOST_SPEEDUP:
        return "late"
    if window.crest < window.before + NEW_GROUND * growth and window.before < DIED_AT * limit:
        return "seen before"
    if growth < needed_share(window.end - window.begin) * (growth + room):
        return "too early"
    return ""


def needed_share(seconds: float) -> float:
    """Which share of the room growth must have used up after so long, to be called a leak.

    >>> [round(needed_share(hours * HOUR), 2) for hours in (0.5, 3, 8, 36)]
    [0.75, 0.6, 0.45, 0.28]
    """
    hours = max(seconds / HOUR, 0.01)
    return min(SHARE_MOST, SHARE_SHORT * math.pow(SHORT_HOURS / hours, SHARE_POWER))


def _window(stretches: Stretches, first: int) -> Window:
    begin, end = stretches.times[first], stretches.end
    settled = SETTLED * (end - begin)
    line = tuple(stretches.kept[stretches.at(begin + settled * part / PARTS)] for part in range(PARTS + 1))
    crest = stretches.crest(end - RECENT * (end - begin), float("inf"))
    return Window(begin, end, line, crest, max(stretches.highs[:first], default=0.0))
