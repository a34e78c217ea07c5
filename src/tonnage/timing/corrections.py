"""What measurements say of the first guess: the ratio at the nearest measured operations of the same family.

Ratios are averaged in logarithms, near ones counting more, with a little weight for the family's own mean so that
a shape far from all that was measured gets what is typical. The spread of the neighbours is kept: it says how sure
the answer is.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from functools import lru_cache

import msgspec

Point = tuple[tuple[float, ...], float, float]
"""Features, the logarithm of measured over guessed, and how much it counts (a real step's more than a trial's)."""

_REACH = 0.55
"""Octaves; a measurement this far away counts 0.6 times as much as one at the very spot."""
_PRIOR = 0.02
_WINDOW = 3.0
"""Octaves of the first feature, the size, beyond which a measurement is not looked at."""


class Correction(msgspec.Struct, frozen=True):
    """A factor on the first guess, and how far apart the measurements behind it lie (logarithms)."""

    factor: float
    spread: float


NO_CORRECTION = Correction(1.0, 0.35)


class Family:
    """The measurements of one family of operations."""

    def __init__(self, points: Sequence[Point]) -> None:
        self.points = tuple(sorted(points))
        self._sizes = [place[0] for place, *_ in self.points]
        total = sum(weight for *_, weight in points)
        self.mean = sum(weight * value for _, value, weight in points) / total
        squares = sum(weight * (value - self.mean) ** 2 for _, value, weight in points)
        self.deviation = math.sqrt(squares / total)

    def at(self, features: tuple[float, ...]) -> Correction:
        """The correction at a place among the measurements."""
        points = self._near(features[0])
        apart = [_apart(features, place) for place, *_ in points]
        # Far from everything, the reach grows: the nearest still speak, only more softly.
        reach = max(_REACH, 0.6 * math.sqrt(min(apart)))
        total, summed, squared = _PRIOR, _PRIOR * self.mean, _PRIOR * self.mean**2
        for distance, (_, value, counts) in zip(apart, points, strict=True):
            weight = counts * math.exp(-distance / (2.0 * reach * reach))
            total += weight
            summed += weight * value
            squared += weight * value * value
        mean = summed / total
        variance = max(squared / total - mean * mean, 0.0)
        near = min(1.0, total - _PRIOR)
        spread = math.sqrt(variance) * near + self.deviation * (1.0 - near) + 0.03
        return Correction(math.exp(mean), spread)

    def _near(self, size: float) -> Sequence[Point]:
        """Those of a similar size, or all where there are none: the rest would not count."""
        begin, end = bisect_left(self._sizes, size - _WINDOW), bisect_right(self._sizes, size + _WINDOW)
        return self.points[begin:end] or self.points


def _apart(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    """Squared distance."""
    return sum((a - b) ** 2 for a, b in zip(one, other, strict=False))


class Corrections:
    """All families of a device; each is sorted and summed when it is first needed."""

    def __init__(self, families: Mapping[str, Sequence[Point]]) -> None:
        self._given = families
        self._families: dict[str, Family] = {}
        self._at = lru_cache(maxsize=16384)(self._find)

    def of(self, kind: str, family: str, features: tuple[float, ...]) -> Correction:
        """The correction for an operation: from its family, else from its kind as a whole."""
        # To a tenth of an octave: a step whose shapes depend on data has thousands that are nearly the same.
        return self._at(kind, family, tuple(round(feature, 1) for feature in features))

    def knows(self, kind: str, family: str) -> bool:
        """Whether the family was measured."""
        return f"{kind}:{family}" in self._given

    def _find(self, kind: str, family: str, features: tuple[float, ...]) -> Correction:
        name = f"{kind}:{family}" if self.knows(kind, family) else f"{kind}:*"
        if name not in self._given:
            return NO_CORRECTION
        if name not in self._families:
            self._families[name] = Family(self._given[name])
        return self._families[name].at(features)
