"""The evidence of a verdict as sentences: figures first, and what speaks against it where something does."""

from __future__ import annotations

from collections.abc import Sequence

from tonnage.figures import duration, plural
from tonnage.memory.series.leaking import Window, needed_share
from tonnage.memory.series.parting import Part
from tonnage.memory.series.points import Point
from tonnage.memory.series.shaping import Rise, Shift
from tonnage.memory.series.spiking import Spikes
from tonnage.memory.series.thinning import Stretches
from tonnage.units import format_bytes

HOUR = 3600.0


def leak(window: Window, pace: float, limit: float, found: Spikes | None) -> tuple[str, ...]:
    """What grew, how steadily, and how much room that took."""
    room = max(0.0, limit - window.crest)
    share = window.growth / (window.growth + room)
    thirds = [window.line[end] - window.line[end - 2] for end in (2, 4, 6)]
    lines = [
        f"{format_bytes(window.growth)} taken and never given back in {duration(window.settled_seconds)}, "
        f"{per_time(pace, window.settled_seconds)}",
        f"in every third of that time: {', '.join(format_bytes(each) for each in thirds)}",
        f"this has used up {percent(share)} of the room below the limit; crests reach {format_bytes(window.crest)}",
    ]
    if found is not None:
        lines.append(f"spikes of {format_bytes(found.height)} above the rest will meet the limit first")
    return tuple(lines)


def spikes(found: Spikes, stretches: Stretches, limit: float) -> tuple[str, ...]:
    """How high, how often, for how long."""
    often = "once" if found.seconds_between is None else f"every {duration(found.seconds_between)}"
    times = plural(found.count, "spike")
    top = max(stretches.highs)
    return (
        f"{times} of up to {format_bytes(found.height)} above what is usual, {often}, "
        f"{percent(found.share_of_time)} of the time",
        f"the highest reaches {format_bytes(top)}, {percent(top / limit)} of the limit",
    )


def shift(found: Shift, parts: Sequence[Part]) -> tuple[str, ...]:
    """From where to where, when, and how long since."""
    word = "rose" if found.size > 0 else "fell"
    return (
        f"{word} once from {format_bytes(found.before)} to {format_bytes(found.after)}, "
        f"{duration(found.at)} after the begin, and has stayed there for "
        f"{duration(parts[-1].end - found.at)}",
    )


def rise(found: Rise, whole: Window, why: str, limit: float) -> tuple[str, ...]:
    """What it grew, and why that is no leak."""
    first, second = whole.halves
    lines = [f"rose by {format_bytes(found.bytes)}, nine tenths of it in {duration(found.until)}"]
    if why == "too early":
        room = max(0.0, limit - whole.crest)
        needed = needed_share(whole.end - whole.begin)
        lines.append(
            f"it has used up {percent(whole.growth / (whole.growth + room))} of the room below the limit; "
            f"after this long, {percent(needed)} would be called a leak"
        )
    elif found.slows and second >= 0:
        ends = format_bytes(whole.line[-1] + whole.still_to_come())
        lines.append(
            f"{format_bytes(first)} in the first half, {format_bytes(second)} in the second: "
            f"it would end near {ends}"
        )
    else:
        lines.append("it came in parts, not at one pace")
    return tuple(lines)


def level(
    stretches: Stretches, parts: Sequence[Part], whole: Window, found: Rise | None, limit: float
) -> tuple[str, ...]:
    """Between what it moves, and how much of the limit that is."""
    low, high = min(stretches.lows), max(stretches.highs)
    lines = [
        f"between {format_bytes(low)} and {format_bytes(high)}, {percent(high / limit)} of the limit at most"
    ]
    if found is not None:
        length = duration(parts[-1].end - found.until)
        lines.append(f"rose by {format_bytes(found.bytes)} at the begin and has been level for {length}")
    else:
        grew = format_bytes(whole.growth) if whole.growth > 0 else "nothing"
        lines.append(f"in {duration(whole.settled_seconds)}, {grew} was taken and never given back")
    return tuple(lines)


def reached(series: Sequence[Point], limit: float) -> str:
    return f"it is at {format_bytes(series[-1].bytes)}, and the limit is {format_bytes(limit)}"


def per_time(pace: float, seconds: float) -> str:
    """Bytes per second in the unit that suits how long it was watched.

    >>> per_time(2**20, 30 * HOUR), per_time(2**20, 60)
    ('3.5 GiB per hour', '1 MiB per second')
    """
    if seconds < 600:
        return f"{format_bytes(pace)} per second"
    if seconds < 2 * HOUR:
        return f"{format_bytes(pace * 60)} per minute"
    return f"{format_bytes(pace * HOUR)} per hour"


def percent(share: float) -> str:
    """A share as people read it.

    >>> percent(0.414), percent(0.003)
    ('41 %', '0.3 %')
    """
    return f"{share * 100:.1f} %" if 0 < share < 0.095 else f"{share * 100:.0f} %"
