"""What a detector is asked about: a series, the limit above it, and when, if ever, it really reaches that limit.

Every case is drawn from `Random(name)`: the same name gives the same series on every machine, and a half of the cases
(`half_of`, by the hash of the background's name) is never looked at while anything is tuned.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tonnage.memory.series import Point

HOUR = 3600.0
GIB = 2.0**30
STEP = 57.0
"""Seconds between samples of the real pods; the made ones are sampled alike."""
SAMPLES = 1441
LIMIT = 64 * GIB

Half = Literal["tuning", "report"]


@dataclass(frozen=True)
class Case:
    """One series and the truth about it."""

    name: str
    kind: str
    """Which background, for the table's columns."""
    leak: str
    """Which leak was put on top; empty where none was."""
    points: tuple[Point, ...]
    reaches: float | None
    """Seconds from the first sample until the limit is first reached; None where it never is."""


def half_of(name: str) -> Half:
    """The half a background belongs to, with everything made from it."""
    return "tuning" if hashlib.sha256(name.encode()).digest()[0] % 2 else "report"


def as_case(name: str, kind: str, leak: str, levels: Sequence[float], times: Sequence[float]) -> Case:
    """Levels as shares of the limit become a case; what comes after the limit is reached never happened."""
    first = next((at for at, level in enumerate(levels) if level >= 1.0), None)
    count = len(levels) if first is None else first + 1
    points = tuple(
        Point(second, min(max(level, 0.0), 1.0) * LIMIT)
        for second, level in zip(times[:count], levels[:count], strict=True)
    )
    return Case(name, kind, leak, points, None if first is None else times[first] - times[0])


def regular_times() -> list[float]:
    return [sample * STEP for sample in range(SAMPLES)]
