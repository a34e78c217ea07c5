"""A series of measurements, and the lower and upper edge of what it does.

Training memory swings with every step, epoch and save. Leaks show in the lowest value of each stretch (what is never
given back); limits are met by the highest.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Point(NamedTuple):
    """One measurement."""

    seconds: float
    bytes: float


def peak(series: Sequence[Point]) -> float | None:
    """The most that was seen.

    >>> peak([Point(0, 3), Point(1, 9), Point(2, 4)])
    9
    """
    return max((point.bytes for point in series), default=None)


def troughs(series: Sequence[Point], stretches: int) -> list[Point]:
    """The lowest point of each of so many equal stretches of time; empty stretches give none."""
    return _edge(series, stretches, lowest=True)


def crests(series: Sequence[Point], stretches: int) -> list[Point]:
    """The highest point of each stretch."""
    return _edge(series, stretches, lowest=False)


def _edge(series: Sequence[Point], stretches: int, *, lowest: bool) -> list[Point]:
    if not series or stretches < 1:
        return []
    begin, end = series[0].seconds, series[-1].seconds
    width = (end - begin) / stretches
    if width <= 0:
        return [(min if lowest else max)(series, key=lambda point: point.bytes)]
    best: dict[int, Point] = {}
    for point in series:
        stretch = min(int((point.seconds - begin) / width), stretches - 1)
        known = best.get(stretch)
        if known is None or (point.bytes < known.bytes if lowest else point.bytes > known.bytes):
            best[stretch] = point
    return [best[stretch] for stretch in sorted(best)]
