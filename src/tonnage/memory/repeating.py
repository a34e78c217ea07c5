"""The last traced step, made repeatable.

Fragmentation settles over several steps, but tracing one more step teaches nothing: it does the same again. So the
last traced step is replayed under the same slots. Two things must be seen to between two repetitions.

*Blocks that outlive a step.* A step frees some blocks of the step before it (gradients dropped by `zero_grad`, the
old loss) and leaves blocks of its own behind. Each block left is paired with the one freed in its stead (same size,
category and operation, in order of making), and takes its slot before the next repetition.

*Blocks made once.* What is left and has no partner is state that appeared in this step, or was made in the stead of
what the build had made (DDP makes its buckets anew once it has seen in which order gradients come): then it is not
made again. Or it is memory that grows with every step: then it is, and the run really grows; a note says so.
"""

from __future__ import annotations

from collections import defaultdict

import msgspec
from msgspec.structs import replace

from tonnage.memory.program import Program, Slots, Stretch

STATE = frozenset({"parameter", "buffer", "optimizer", "gradient", "workspace", "input"})
REBUILT_WITHIN = 0.01
"""The same content cut into other blocks rounds to a little more or less."""


class Repetition(msgspec.Struct, frozen=True):
    """One more step: its events, and which slot takes over which block before it runs."""

    stretches: tuple[Stretch, ...]
    moves: tuple[tuple[int, int], ...]
    """(from, to): the block in slot `from` belongs to slot `to` from here on."""
    grows_by: int
    """Bytes that every repetition leaves behind."""


def repetition_of(program: Program) -> Repetition | None:
    """The last traced step as something to repeat; nothing where no step was traced."""
    steps = [stretch for stretch in program.stretches if stretch.is_step]
    if not steps:
        return None
    last = [stretch for stretch in steps if stretch.name == steps[-1].name]
    slots = program.slots
    made: dict[int, None] = {}
    freed: dict[int, None] = {}
    for stretch in last:
        for event in stretch.events:
            if event >= 0:
                made[event] = None
            elif ~event in made:
                del made[~event]
            else:
                freed[~event] = None
    moves, unmatched = _pairs(slots, program, list(made), list(freed))
    built = {event for stretch in program.stretches if not stretch.is_step for event in stretch.events}
    replaced = sum(slots.sizes[slot] for slot in built.intersection(freed).difference(to for _, to in moves))
    once = {slot for slot in unmatched if slots.categories[slot] in STATE}
    once |= _replacing(slots, program, [slot for slot in unmatched if slot not in once], replaced)
    kept = tuple(_without(stretch, once) for stretch in last)
    grows_by = sum(slots.sizes[slot] for slot in unmatched if slot not in once)
    return Repetition(kept, tuple(moves), grows_by)


def with_steady_step(program: Program) -> Program:
    """A program of one step with the next one behind it, the one that is like all later ones."""
    again = repetition_of(program)
    assert again is not None
    steady = tuple(replace(stretch, name="step 1") for stretch in again.stretches)
    return replace(program, stretches=(*program.stretches, *steady))


def _pairs(
    slots: Slots, program: Program, left: list[int], freed: list[int]
) -> tuple[list[tuple[int, int]], list[int]]:
    """Blocks left paired with blocks freed in their stead, and those left without a partner."""
    moves: list[tuple[int, int]] = []
    remaining, partners = sorted(left), sorted(freed)
    # By who made it first; what that does not settle, by size and category alone.
    for is_strict in (True, False):
        waiting: dict[object, list[int]] = defaultdict(list)
        for slot in reversed(partners):
            waiting[_likeness(slots, program, slot, is_strict)].append(slot)
        unsettled = []
        for slot in remaining:
            candidates = waiting.get(_likeness(slots, program, slot, is_strict))
            if candidates:
                moves.append((slot, candidates.pop()))
            else:
                unsettled.append(slot)
        taken = {to for _, to in moves}
        remaining, partners = unsettled, [slot for slot in partners if slot not in taken]
    return moves, remaining


def _replacing(slots: Slots, program: Program, left: list[int], replaced: int) -> set[int]:
    """Of the blocks left, those that stand for `replaced` bytes of the build: nothing frees them a second time."""
    by_maker: dict[object, list[int]] = defaultdict(list)
    for slot in left:
        by_maker[_maker(slots, program, slot)].append(slot)
    found: set[int] = set()
    for made in by_maker.values():
        size = sum(slots.sizes[slot] for slot in made)
        if size <= replaced * (1 + REBUILT_WITHIN):
            found.update(made)
            replaced -= size
    return found


def _likeness(slots: Slots, program: Program, slot: int, is_strict: bool) -> object:
    size, category = slots.sizes[slot], slots.categories[slot]
    if not is_strict:
        return size, category
    return size, category, _maker(slots, program, slot)


def _maker(slots: Slots, program: Program, slot: int) -> tuple[int, int] | None:
    """The operation and the module that made a block; nothing where it was made between calls."""
    call = slots.calls[slot]
    if call < 0:
        return None
    traced = program.trace.calls[call]
    return traced.operation, traced.module


def _without(stretch: Stretch, slots: set[int]) -> Stretch:
    """The stretch without taking these slots."""
    if not slots:
        return stretch
    kept = [place for place, event in enumerate(stretch.events) if event not in slots]
    return Stretch(
        stretch.name,
        [stretch.events[place] for place in kept],
        [stretch.calls[place] for place in kept],
        stretch.empties_cache,
    )
