"""When a growing series reaches a limit: the room above its crests, divided by how fast its troughs rise."""

from __future__ import annotations

from collections.abc import Sequence

from tonnage.memory.series.growing import growth_of
from tonnage.memory.series.points import Point, crests

RECENT_STRETCHES = 4


def seconds_to(series: Sequence[Point], limit: float) -> float | None:
    """Seconds from the last measurement until the limit; 0 where it is reached, None where it does not grow."""
    if not series:
        return None
    recent = crests(series, RECENT_STRETCHES)[-1].bytes
    if recent >= limit:
        return 0.0
    growth = growth_of(series, limit=limit)
    return (limit - recent) / growth.bytes_per_second if growth.is_growing else None
