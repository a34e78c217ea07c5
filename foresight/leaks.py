"""Leaks put on top of a background, so steep that the limit is really reached when it shall be.

`pace` is the leak's course from 0 at its begin to 1 at the wished hour; its height is searched so that background plus
leak first reaches the limit then. Where the background's own crests reach it sooner, that is the truth.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from random import Random

from foresight.cases import HOUR

SOONEST, LATEST = 10.0, 22.0
"""Hours until the limit, from the begin of the leak."""

Pace = Callable[[float], float]
"""Hours since the leak began to its height, 1 at the wished hour."""


def linear(hours: float, chance: Random) -> Pace:
    del chance
    return lambda hour: hour / hours


def per_epoch(hours: float, chance: Random) -> Pace:
    """Something is kept at the end of every epoch."""
    epoch = chance.uniform(0.3, 2.0)
    steps = max(1, math.floor(hours / epoch))
    return lambda hour: math.floor(hour / epoch + 1e-9) / steps


def accelerating(hours: float, chance: Random) -> Pace:
    """What leaks makes every step leak more."""
    power = chance.uniform(1.2, 1.7)
    return lambda hour: (hour / hours) ** power


def in_bursts(hours: float, chance: Random) -> Pace:
    """Now and then a request leaks: gaps of chance, sizes of chance."""
    at, moments = 0.0, []
    while at < 60.0:
        at += chance.expovariate(1 / 0.35)
        moments.append((at, chance.expovariate(1.0)))
    whole = sum(size for when, size in moments if when <= hours) or 1.0
    return lambda hour: sum(size for when, size in moments if when <= hour) / whole


def leak_onto(
    levels: Sequence[float], times: Sequence[float], pace: Pace, begins: float, hours: float
) -> list[float] | None:
    """The background with the leak on top; None where it cannot reach the limit about when it shall."""
    course = [pace(max(0.0, (at - times[0]) / HOUR - begins)) for at in times]
    low, high = 0.0, 1.5
    for _ in range(30):
        middle = (low + high) / 2
        reached = _reaches(levels, course, times, middle)
        low, high = (low, middle) if reached is not None and reached <= begins + hours else (middle, high)
    reached = _reaches(levels, course, times, high)
    if reached is None or not SOONEST - 0.5 <= reached - begins <= LATEST + 0.5:
        return None
    return [level + high * grown for level, grown in zip(levels, course, strict=True)]


def _reaches(
    levels: Sequence[float], course: Sequence[float], times: Sequence[float], height: float
) -> float | None:
    for level, grown, at in zip(levels, course, times, strict=True):
        if level + height * grown >= 1.0:
            return (at - times[0]) / HOUR
    return None
