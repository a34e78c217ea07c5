"""The step on paper through the caching allocator, cheaply enough to ask often.

Exact mode replays every block over five steps and finds the smallest limit to 2 MiB. Here blocks of the small
pool (up to 1 MiB) are left out and their most added at the end, because they live in segments of their own; three
steps are replayed, and the limit is found to a third of a per cent. That costs little beside what a described
step cannot know.

One thing it cannot know is how half-precision weights came to the device: made in that format, or made in fp32
there and cast, which leaves holes that later blocks fall into (a tenth and more of the whole, either way). Both are
replayed; what is expected lies in the middle, and what is reserved is the larger. Where the device could not hold the
weights in fp32, they cannot have been made that way, and only the other is replayed.
"""

from __future__ import annotations

from itertools import accumulate, chain, compress
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from tonnage.memory.allocator.caching import UNBOUNDED
from tonnage.memory.allocator.sizes import GRAIN, SMALL
from tonnage.memory.program import Program, Stretch
from tonnage.memory.rehearsing import Rehearsal
from tonnage.memory.repeating import Repetition

T = TypeVar("T")

STEPS = 3
FINENESS = 1 / 300
"""Share of the peak to which the smallest limit is found."""


class Allocated(msgspec.Struct, frozen=True):
    """What the allocator makes of a step."""

    peak_reserved: int
    smallest_cap: int
    retries: int


class Unpressed(msgspec.Struct, frozen=True):
    """What it holds without a limit; no limit below `peak_allocated` trains."""

    peak_allocated: int
    peak_reserved: int


class Passage:
    """One step's way through the allocator: without a limit first, and under limits where that is asked for."""

    def __init__(
        self, program: Program, *, half_weights: bool = False, device_bytes: int = UNBOUNDED
    ) -> None:
        self._small = _most_small(program)
        has_room = 2 * _weights(program) <= device_bytes
        ways = [program, _made_in_fp32(program)] if half_weights and has_room else [program]
        self._rehearsals = [_rehearsal(_without_small(way)) for way in ways]

    def freely(self) -> Unpressed:
        """The peaks without a limit."""
        found = [rehearsal.freely() for rehearsal in self._rehearsals]
        allocated = sum(one.peak_allocated for one in found) // len(found)
        return Unpressed(allocated + self._small, max(one.peak_reserved for one in found) + self._small)

    def in_full(self) -> Allocated:
        """Peak reserved without a limit, and the smallest limit that trains."""
        found = [_found(rehearsal) for rehearsal in self._rehearsals]
        reserved = max(one.peak_reserved for one in found)
        cap = sum(one.smallest_cap for one in found) // len(found)
        small = self._small
        return Allocated(reserved + small, min(cap, reserved) + small, max(one.retries for one in found))


def _rehearsal(program: Program) -> Rehearsal:
    """The program's last step is the steady one: it leaves nothing behind, and is repeated as it is."""
    return Rehearsal(
        program, steps=STEPS, repetition=Repetition(program.stretches[-1:], moves=(), grows_by=0)
    )


def _found(rehearsal: Rehearsal) -> Allocated:
    free = rehearsal.freely()
    low, high, retries = free.peak_allocated, free.peak_reserved, 0
    fine = max(GRAIN, int(free.peak_reserved * FINENESS))
    while high - low > fine:
        middle = (low + high) // 2 // GRAIN * GRAIN
        outcome = rehearsal.under(middle)
        if outcome is None:
            low = middle
        else:
            high, retries = middle, outcome.retries
    return Allocated(free.peak_reserved, high, retries)


def _made_in_fp32(program: Program) -> Program:
    """The same run, its weights built twice as wide and cast one by one."""
    build = program.stretches[0]
    slots = replace(
        program.slots,
        sizes=list(program.slots.sizes),
        pools=list(program.slots.pools),
        categories=list(program.slots.categories),
        calls=list(program.slots.calls),
        pool_names=list(program.slots.pool_names),
    )
    weights = [event for event in build.events if _is_weight(program, event)]
    wide = [slots.add(2 * slots.sizes[event], 0, "parameter", -1) for event in weights]
    others = [event for event in build.events if not _is_weight(program, event)]
    cast = [step for new, old in zip(weights, wide, strict=True) for step in (new, ~old)]
    events = wide + cast + others
    first = Stretch(build.name, events, [-1] * len(events), build.empties_cache)
    return Program(program.trace, program.settings, slots, (first, *program.stretches[1:]))


def _weights(program: Program) -> int:
    """Bytes of the weights that are made in the build."""
    sizes = program.slots.sizes
    return sum(sizes[event] for event in program.stretches[0].events if _is_weight(program, event))


def _is_weight(program: Program, event: int) -> bool:
    return event >= 0 and program.slots.categories[event] == "parameter"


def _most_small(program: Program) -> int:
    """The most that blocks of the small pool hold at once, in whole segments."""
    held = [size if size <= SMALL else 0 for size in program.slots.sizes]
    changes = _by_event(held, [-size for size in held])
    events = chain.from_iterable(stretch.events for stretch in program.stretches)
    most = max(accumulate(map(changes.__getitem__, events)), default=0)
    return -(-most // GRAIN) * GRAIN


def _without_small(program: Program) -> Program:
    """The takes and frees of large blocks alone, without the calls they happen in."""
    is_large = [size > SMALL for size in program.slots.sizes]
    stays = _by_event(is_large, is_large)
    stretches = (
        replace(
            stretch, events=list(compress(stretch.events, map(stays.__getitem__, stretch.events))), calls=[]
        )
        for stretch in program.stretches
    )
    return replace(program, stretches=tuple(stretches))


def _by_event(taken: list[T], freed: list[T]) -> list[T]:
    """By event, as an index: `slot` is its place from the start, `~slot` its place from the end."""
    return [*taken, *reversed(freed)]
