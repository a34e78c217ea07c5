"""A program run through the allocator: what it holds, and whether a limit suffices.

The whole process counts: the build, then steps, with nothing emptied in between unless the traced code did so. After
the traced steps the last one is repeated, until `STEPS` have run or a repetition changes nothing any more (then
every later one would do the same). `rehearsing` does the same many times over.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from tonnage.memory.allocator import CachingAllocator, OutOfMemoryError
from tonnage.memory.allocator.blocks import Block
from tonnage.memory.program import Program, Stretch
from tonnage.memory.repeating import Repetition, repetition_of

STEPS = 5
"""Steps a cap is judged over."""


class Outcome(msgspec.Struct, frozen=True):
    """What a whole run came to."""

    peak_allocated: int
    peak_reserved: int
    retries: int
    steps: int
    """Steps that were really replayed; fewer than asked for where the rest would repeat the last."""


class Moment(msgspec.Struct, frozen=True):
    """The allocator after one event."""

    stretch: Stretch
    event: int
    """The slot taken, or `~slot` freed."""
    call: int
    address: int
    size: int
    """Bytes of the block taken or freed, what could not be split off included."""
    allocated: int
    reserved: int


def replay(
    program: Program, *, limit: int | None = None, steps: int = STEPS, repetition: Repetition | None = None
) -> Outcome:
    """Run build and steps under a limit; raise OutOfMemoryError where it does not suffice.

    A repetition that was worked out before can be given; it is the same for every limit.
    """
    player = _Player(program, CachingAllocator(program.settings, limit=limit))
    count = 0
    for stretch in _schedule(program, player, steps, repetition or repetition_of(program)):
        player.play(stretch)
        count += stretch.is_step
    allocator = player.allocator
    return Outcome(allocator.peak_allocated, allocator.peak_reserved, allocator.retries, count)


def trains(program: Program, limit: int, repetition: Repetition | None = None) -> Outcome | None:
    """The outcome under this limit; nothing where it runs out of memory."""
    try:
        return replay(program, limit=limit, repetition=repetition)
    except OutOfMemoryError:
        return None


def watch(program: Program, *, steps: int = STEPS, repetition: Repetition | None = None) -> Iterator[Moment]:
    """Every event of a run without a limit, with what is held after it."""
    allocator = CachingAllocator(program.settings)
    player = _Player(program, allocator)
    blocks, sizes, pools, pool_of = player.blocks, player.sizes, player.pools, player.pool_of
    for stretch in _schedule(program, player, steps, repetition or repetition_of(program)):
        for event, call in zip(stretch.events, stretch.calls, strict=True):
            if event >= 0:
                block = blocks[event] = allocator.take(sizes[event], pools[pool_of[event]])
                address, size = block.address, block.size
            else:
                freed = blocks[~event]
                if freed is None:
                    continue
                address, size = freed.address, freed.size
                allocator.free(freed)
                blocks[~event] = None
            yield Moment(stretch, event, call, address, size, allocator.allocated, allocator.reserved)
        if stretch.empties_cache:
            allocator.empty_cache()


def _schedule(
    program: Program, player: _Player, steps: int, repetition: Repetition | None
) -> Iterator[Stretch]:
    """The traced stretches, then the last step again until enough have run or nothing changes any more."""
    yield from program.stretches
    done = len({stretch.name for stretch in program.stretches if stretch.is_step})
    # Two blocks may swap places from step to step, so any earlier arrangement ends the search, not only the last.
    seen: set[object] = set()
    while repetition is not None and done < steps:
        player.move(repetition.moves)
        now = player.arrangement()
        if now in seen:
            return
        seen.add(now)
        yield from repetition.stretches
        done += 1


class _Player:
    """Plays stretches into one allocator; slots hold the blocks that are in use."""

    __slots__ = ("allocator", "blocks", "given_up", "optional", "pool_of", "pools", "sizes")

    def __init__(self, program: Program, allocator: CachingAllocator) -> None:
        slots = program.slots
        self.allocator = allocator
        self.blocks: list[Block | None] = [None] * len(slots)
        self.sizes = slots.sizes
        self.pool_of = slots.pools
        self.pools = [
            allocator.pool(0 if is_small else 1 << 40, stream) for is_small, stream in slots.pool_names
        ]
        self.optional = slots.optional
        self.given_up: set[int] = set()

    def play(self, stretch: Stretch) -> None:
        events = iter(stretch.events)
        while not self._play_on(events):
            pass
        if stretch.empties_cache:
            self.allocator.empty_cache()

    def _play_on(self, events: Iterator[int]) -> bool:
        """Play until the end (True), or until an operation does without its workspace (False)."""
        blocks, sizes, pools, pool_of = self.blocks, self.sizes, self.pools, self.pool_of
        take, free, optional, given_up = (
            self.allocator.take,
            self.allocator.free,
            self.optional,
            self.given_up,
        )
        event = 0
        try:
            for event in events:
                if event >= 0:
                    if given_up and optional.get(event) in given_up:
                        continue
                    blocks[event] = take(sizes[event], pools[pool_of[event]])
                else:
                    free(blocks[~event])
                    blocks[~event] = None
        except OutOfMemoryError:
            if event not in optional:
                raise
            given_up.add(optional[event])
            return False
        return True

    def move(self, moves: tuple[tuple[int, int], ...]) -> None:
        blocks = self.blocks
        moving = [blocks[source] for source, _ in moves]
        for source, _ in moves:
            blocks[source] = None
        for (_, target), block in zip(moves, moving, strict=True):
            blocks[target] = block

    def arrangement(self) -> object:
        """All that later events depend on: free memory, and where each slot's block lies."""
        places = [(slot, block.address) for slot, block in enumerate(self.blocks) if block is not None]
        return self.allocator.arrangement(), tuple(places), frozenset(self.given_up)
