"""The step on paper through the caching allocator, cheaply enough to ask often.

Exact mode replays every block over five steps and finds the smallest limit to 2 MiB. Here blocks of the small
pool (up to 1 MiB) are left out and their most added at the end, because they live in segments of their own; three
steps are replayed, and the limit is found to a third of a per cent. That costs little beside what a described
step cannot know.
"""

from __future__ import annotations

from dataclasses import dataclass

from tonnage.memory.allocator import OutOfMemoryError
from tonnage.memory.allocator.sizes import GRAIN, SMALL
from tonnage.memory.program import Program, Slots, Stretch
from tonnage.memory.repeating import repetition_of
from tonnage.memory.replay import replay

STEPS = 3
FINENESS = 1 / 300
"""Share of the peak to which the smallest limit is found."""


@dataclass(frozen=True, slots=True)
class Allocated:
    """What the allocator makes of a step."""

    peak_reserved: int
    smallest_cap: int
    retries: int


def through_allocator(program: Program) -> Allocated:
    """Peak reserved without a limit, and the smallest limit that trains."""
    small = _most_small(program)
    lean = _without_small(program)
    repetition = repetition_of(lean)
    free = replay(lean, steps=STEPS, repetition=repetition)
    low, high, retries = free.peak_allocated, free.peak_reserved, 0
    fine = max(GRAIN, int(free.peak_reserved * FINENESS))
    while high - low > fine:
        middle = (low + high) // 2 // GRAIN * GRAIN
        try:
            outcome = replay(lean, limit=middle, steps=STEPS, repetition=repetition)
        except OutOfMemoryError:
            low = middle
        else:
            high, retries = middle, outcome.retries
        if middle in (low, high) and high - low <= GRAIN:
            break
    return Allocated(free.peak_reserved + small, high + small, retries)


def _most_small(program: Program) -> int:
    """The most that blocks of the small pool hold at once, in whole segments."""
    sizes = program.slots.sizes
    held = most = 0
    for stretch in program.stretches:
        for event in stretch.events:
            size = sizes[event] if event >= 0 else sizes[~event]
            if size <= SMALL:
                held += size if event >= 0 else -size
                most = max(most, held)
    return -(-most // GRAIN) * GRAIN


def _without_small(program: Program) -> Program:
    sizes = program.slots.sizes
    stretches = []
    for stretch in program.stretches:
        kept = [
            (event, call)
            for event, call in zip(stretch.events, stretch.calls, strict=True)
            if sizes[event if event >= 0 else ~event] > SMALL
        ]
        lean = Stretch(
            stretch.name, [event for event, _ in kept], [call for _, call in kept], stretch.empties_cache
        )
        stretches.append(lean)
    slots: Slots = program.slots
    return Program(program.trace, program.settings, slots, tuple(stretches))
