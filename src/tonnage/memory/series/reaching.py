"""When a growing series reaches a limit: the room above its crests, divided by how fast its troughs rise.

How sure that is follows from the slopes between the troughs themselves (Sen 1968): the rank of the median among them is
known as well as Mann-Kendall's score is, and the slopes that many ranks away bound it. The interval is that of the
pace; that the pace stays what it was is assumed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

from tonnage.memory.series.growing import STRETCHES, growth_of, slopes_between
from tonnage.memory.series.points import Point, crests, troughs

RECENT_STRETCHES = 4


@dataclass(frozen=True, slots=True)
class Reach:
    """When a limit is reached, in seconds from the last measurement."""

    held: float
    """The most that was held lately."""
    bytes_per_second: float
    soonest: float
    likely: float
    latest: float


def seconds_to(series: Sequence[Point], limit: float) -> float | None:
    """Seconds from the last measurement until the limit; 0 where it is reached, None where it does not grow."""
    if not series:
        return None
    recent = crests(series, RECENT_STRETCHES)[-1].bytes
    if recent >= limit:
        return 0.0
    growth = growth_of(series, limit=limit)
    return (limit - recent) / growth.bytes_per_second if growth.is_growing else None


def reach_of(series: Sequence[Point], limit: float, *, confidence: float = 0.9) -> Reach | None:
    """When the limit is reached: after `soonest` and before `latest`, each by so much; None where nothing grows."""
    growth = growth_of(series, limit=limit)
    if not growth.is_growing:
        return None
    held = crests(series, RECENT_STRETCHES)[-1].bytes
    room = max(limit - held, 0.0)
    slow, fast = slope_range(troughs(series, min(STRETCHES, len(series) // 2)), confidence)
    pace = growth.bytes_per_second
    return Reach(
        held=held,
        bytes_per_second=pace,
        soonest=room / max(fast, pace),
        likely=room / pace,
        latest=room / min(slow, pace) if slow > 0 else math.inf,
    )


def slope_range(series: Sequence[Point], confidence: float) -> tuple[float, float]:
    """The slopes that the true one lies above and below, each with this confidence.

    >>> slope_range([Point(second, 2 * second) for second in range(9)], 0.9)
    (2.0, 2.0)
    """
    slopes, count = sorted(slopes_between(series)), len(series)
    if not slopes:
        return 0.0, 0.0
    spread = math.sqrt(count * (count - 1) * (2 * count + 5) / 18) * NormalDist().inv_cdf(confidence)
    low, high = (len(slopes) - spread) / 2, (len(slopes) + spread) / 2
    return slopes[max(math.floor(low), 0)], slopes[min(math.ceil(high), len(slopes) - 1)]
