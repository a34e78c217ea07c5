"""Out of RAM: come back with more, so much that it lasts to the end, or say which wall is in the way.

    wanted = peak + growth x time left + margin       at least 1.2 x the size it died at
    wanted = 1.5 x the size it died at                where no growth to speak of was measured: a spike's true height is
                                                      not known, a kill cuts it off at the limit (1.2 needs two or
                                                      three more deaths as a rule, 1.5 seldom more than one)
    wanted = growBy x the size it died at             where the document says so

Growth is believed as far as the attempt itself bears it out (`growth.py`). A wall below `wanted` is used up to the
wall, once, if the attempt may still live there: a restart begins without what had leaked. It may not where the wall
is below 1.2 x the dead size, or where the leak that filled it would fill the wall too before the end. Then the run is
given up, with the wall's name: dying there again would teach nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tonnage.running.actions import GiveUp
from tonnage.running.attempts import Attempt, Ending, Size
from tonnage.running.observing import Bounds, Situation
from tonnage.running.policies import Policies
from tonnage.running.remedies.cure import Cure, up_to_mib
from tonnage.running.remedies.growth import leak_of
from tonnage.units import format_bytes

LEAST_FACTOR = 1.2
SPIKE_FACTOR = 1.5
MARGIN = 0.10
"""Of the peak, beside what growth adds: peaks vary from step to step."""
CODE = "RUN-010"


@dataclass(frozen=True, slots=True)
class Wish:
    """What the next attempt should have, and the least it must have."""

    bytes: int
    least: int
    because: str


def remedy(situation: Situation, policies: Policies, attempt: Attempt, ending: Ending) -> Cure | GiveUp:
    """More memory, or why there is none to give."""
    dead = attempt.size.memory
    if not policies.raise_memory:
        return GiveUp(why="out of RAM, and onOOM says fail", hint="set onOOM: raise, or memory", code=CODE)
    if dead is None:
        return _nothing_limited(situation.bounds, ending)
    wish = wish_for(dead, attempt, ending, policies)
    wall, owner = wall_of(situation.bounds, policies)
    if wall is None or wish.bytes <= wall:
        return _cure(attempt, wish.bytes, wish.because)
    if wish.least <= wall:
        return _cure(
            attempt, wall, f"all that {owner} allows; {format_bytes(wish.bytes)} was wanted: {wish.because}"
        )
    return _refusal(dead, wish, wall, owner)


def wish_for(dead: int, attempt: Attempt, ending: Ending, policies: Policies) -> Wish:
    """How much to ask for after dying at this size."""
    if policies.grow_by is not None:
        grown = max(up_to_mib(dead * policies.grow_by), up_to_mib(dead + 1))
        return Wish(grown, grown, f"{policies.grow_by:g} x {format_bytes(dead)} (onOOM.growBy)")
    least = up_to_mib(dead * LEAST_FACTOR)
    peak = max(ending.peak or dead, dead)
    leak = leak_of(attempt, ending, peak)
    if leak is None or leak.until_end < MARGIN * peak:
        return Wish(up_to_mib(dead * SPIKE_FACTOR), least, f"{SPIKE_FACTOR:g} x {format_bytes(dead)}")
    wanted = max(least, up_to_mib(peak * (1 + MARGIN) + leak.until_end))
    because = f"peak {format_bytes(peak)} + what it grows until the end"
    return Wish(wanted, max(least, up_to_mib(leak.until_end)) if leak.filled_it else least, because)


def wall_of(bounds: Bounds, policies: Policies) -> tuple[int | None, str]:
    """The lowest wall and whose it is."""
    walls = [(bounds.memory, bounds.memory_wall or "this place"), (policies.max_memory, "onOOM.maxMemory")]
    known = [(limit, owner) for limit, owner in walls if limit is not None]
    return min(known, default=(None, ""))


def raised(size: Size, memory: int) -> Size:
    """The size with more memory: a request below the limit keeps its part of it, one that was equal stays equal."""
    before = size.memory or memory
    request = size.memory_request
    asked = None if request is None else min(memory, up_to_mib(request * memory / before))
    return replace(size, memory=memory, memory_request=asked)


def _cure(attempt: Attempt, memory: int, because: str) -> Cure:
    return Cure(raised(attempt.size, memory), f"{format_bytes(memory)} ({because})")


def _refusal(dead: int, wish: Wish, wall: int, owner: str) -> GiveUp:
    return GiveUp(
        why=f"out of RAM at {format_bytes(dead)}; it needs at least {format_bytes(wish.least)} and "
        f"{owner} allows {format_bytes(wall)}",
        hint="fewer loader workers, a smaller dataset in memory or a sharded checkpoint need less; "
        f"or {'raise onOOM.maxMemory' if owner == 'onOOM.maxMemory' else 'a larger node, or more nodes'}",
        code=CODE,
    )


def _nothing_limited(bounds: Bounds, ending: Ending) -> GiveUp:
    peak = "" if ending.peak is None else f" at {format_bytes(ending.peak)}"
    return GiveUp(
        why=f"out of RAM{peak} with no limit of its own: {bounds.memory_wall or 'the machine'} has no more",
        hint="run it where there is more memory, or make it need less",
        code=CODE,
    )
