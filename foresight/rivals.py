"""What people use now, as detectors: an alarm or none, and when the limit would be reached.

predict_linear    Prometheus: least squares over the last hour, over the limit in four
ordinary least squares   over everything seen: R2 above 0.8 and the limit within a day
Mann-Kendall      over the last six hours: later values above earlier ones, p < 0.01
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from foresight.cases import HOUR, LIMIT
from tonnage.memory.series import Point
from tonnage.memory.series.forecasting import forecast


@dataclass(frozen=True)
class Said:
    """What a detector says of what it has seen so far."""

    is_alarm: bool
    p10: float | None = None
    p50: float | None = None
    p90: float | None = None
    verdict: str = ""


Detector = Callable[[Sequence[Point]], Said]


def ours(seen: Sequence[Point]) -> Said:
    found = forecast(seen, LIMIT)
    until = found.limit_in_seconds
    if until is None:
        return Said(found.verdict == "leaking", verdict=found.verdict)
    return Said(found.verdict == "leaking", until.p10, until.p50, until.p90, found.verdict)


def predict_linear(seen: Sequence[Point]) -> Said:
    line = _least_squares(_last(seen, HOUR))
    return Said(line.now + line.slope * 4 * HOUR > LIMIT and line.slope > 0, p50=line.seconds_to(LIMIT))


def ordinary_least_squares(seen: Sequence[Point]) -> Said:
    line = _least_squares(seen)
    left = line.seconds_to(LIMIT)
    return Said(line.r_squared > 0.8 and left is not None and left < 24 * HOUR, p50=left)


def mann_kendall(seen: Sequence[Point]) -> Said:
    window = _last(seen, 6 * HOUR)
    if len(window) < 10:
        return Said(False)
    line = _least_squares(window)
    return Said(_mann_kendall_z([point.bytes for point in window]) > 2.326, p50=line.seconds_to(LIMIT))


DETECTORS: dict[str, Detector] = {
    "tonnage forecast": ours,
    "predict_linear 1 h, 4 h": predict_linear,
    "least squares, R2 > 0.8": ordinary_least_squares,
    "Mann-Kendall 6 h, p < 0.01": mann_kendall,
}


@dataclass(frozen=True)
class _Line:
    slope: float
    now: float
    r_squared: float

    def seconds_to(self, limit: float) -> float | None:
        return max(0.0, limit - self.now) / self.slope if self.slope > 0 else None


def _least_squares(points: Sequence[Point]) -> _Line:
    count = len(points)
    if count < 3:
        return _Line(0.0, points[-1].bytes if points else 0.0, 0.0)
    end = points[-1].seconds
    mean_x = sum(p.seconds - end for p in points) / count
    mean_y = sum(p.bytes for p in points) / count
    xx = sum((p.seconds - end - mean_x) ** 2 for p in points)
    yy = sum((p.bytes - mean_y) ** 2 for p in points)
    xy = sum((p.seconds - end - mean_x) * (p.bytes - mean_y) for p in points)
    slope = xy / xx if xx else 0.0
    return _Line(slope, mean_y - slope * mean_x, xy * xy / (xx * yy) if xx and yy else 0.0)


def _last(seen: Sequence[Point], seconds: float) -> Sequence[Point]:
    begin = seen[-1].seconds - seconds
    return seen[bisect_left(seen, begin, key=lambda point: point.seconds) :]


def _mann_kendall_z(values: Sequence[float]) -> float:
    """Counted with a sorted list: a pair each would take minutes."""
    before: list[float] = []
    score = 0
    for value in values:
        below = bisect_left(before, value)
        score += below - (len(before) - bisect_right(before, value))
        insort(before, value)
    count = len(values)
    variance = count * (count - 1) * (2 * count + 5) / 18
    return (score - math.copysign(1, score)) / math.sqrt(variance) if score else 0.0
