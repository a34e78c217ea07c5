"""One program, replayed under many limits.

The smallest limit is found by trying limits, each a replay of build and steps. Some things make that cheap without
changing an answer: under the allocator's common settings blocks are plain numbers (`allocator.flat`), and a try
begins where its limit could first have mattered, not at the build: before that it does what the run without a limit
did, and that one left copies of the allocator behind. And where the last traced step leaves the allocator as it found
it, repeating that step would do the same once more, so it is not played.

Nor is every limit tried. A run goes the same way under all limits that would have granted what it was granted and
refused what it was refused: from the most it held up to below the least it was refused. So each run answers for a
whole range of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import accumulate

import msgspec

from tonnage.memory.allocator import OutOfMemoryError
from tonnage.memory.allocator.flat import Blocks, FlatAllocator, is_common
from tonnage.memory.allocator.sizes import GRAIN
from tonnage.memory.program import Program, Stretch
from tonnage.memory.repeating import Repetition, repetition_of
from tonnage.memory.replay import STEPS, Outcome, replay

COPIES = 12
"""Copies of the allocator that are kept at most."""
APART = 1 / 50
"""Between two of them it grew by so much of the least a limit can be."""


NEVER = -1
"""No turn."""


class _Turn(msgspec.Struct, frozen=True):
    """One stretch to play; `is_again` where a repetition begins with it."""

    stretch: Stretch
    is_again: bool = False


class _Place(msgspec.Struct, frozen=True):
    """How far a run had come: the turn, the events played of it, and the arrangements seen before repetitions."""

    turn: int
    event: int
    seen: frozenset[object]
    allocator: FlatAllocator
    has_begun: bool = True
    """Whether the turn itself has begun, its repetition's moves made."""
    found: object = None
    """How the last traced step found the allocator, once it has begun."""


class _Tried(msgspec.Struct, frozen=True):
    """What came of every limit from `least` up to below `above`."""

    least: int
    above: int
    outcome: Outcome | None


class Rehearsal:
    """Outcomes of one program without a limit and under any."""

    def __init__(self, program: Program, *, steps: int = STEPS, repetition: Repetition | None = None) -> None:
        self._program, self._steps = program, steps
        self._repetition = repetition or repetition_of(program)
        self._is_flat = is_common(program.settings)
        self._turns = tuple(self._all_turns())
        self._copies: list[_Place] = []
        self._freely: Outcome | None = None
        self._tried: list[_Tried] = []
        self._now = 0
        self._seen: set[object] = set()
        self._found: object = None
        self._last_step = self._first_turn_of_what_repeats()

    def freely(self) -> Outcome:
        """The run without a limit."""
        if self._freely is None:
            self._freely = self._run_freely() if self._is_flat else self._replayed(None)
        return self._freely

    def under(self, limit: int) -> Outcome | None:
        """The run under a limit; nothing where it runs out of memory."""
        if not self._is_flat:
            return self._replayed_under(limit)
        free = self.freely()
        if limit >= free.peak_reserved:
            return free
        known = next((tried for tried in self._tried if tried.least <= limit < tried.above), None)
        if known is None:
            known = self._try(limit)
            self._tried.append(known)
        return known.outcome

    def _try(self, limit: int) -> _Tried:
        place = self._last_copy_below(limit)
        allocator = place.allocator.under(limit)
        outcome = None
        with suppress(OutOfMemoryError):
            outcome = self._run(place, allocator)
        return _Tried(allocator.peak_reserved, allocator.refused, outcome)

    def _replayed_under(self, limit: int) -> Outcome | None:
        try:
            return self._replayed(limit)
        except OutOfMemoryError:
            return None

    def _replayed(self, limit: int | None) -> Outcome:
        return replay(self._program, limit=limit, steps=self._steps, repetition=self._repetition)

    def _all_turns(self) -> Iterator[_Turn]:
        program, repetition = self._program, self._repetition
        yield from map(_Turn, program.stretches)
        done = len({stretch.name for stretch in program.stretches if stretch.is_step})
        if repetition is not None:
            for _ in range(done, self._steps):
                yield from (
                    _Turn(stretch, number == 0) for number, stretch in enumerate(repetition.stretches)
                )

    def _first_turn_of_what_repeats(self) -> int:
        """The turn with which the last traced step begins, where a repetition does the very same; else none."""
        stretches, repetition = self._program.stretches, self._repetition
        if repetition is None or repetition.moves:
            return NEVER
        places = [
            place
            for place, one in enumerate(stretches)
            if any(one is again for again in repetition.stretches)
        ]
        behind = stretches[places[-1] + 1 :] if places else ()
        is_whole = len(places) == len(repetition.stretches)
        return places[0] if is_whole and not any(one.events or one.empties_cache for one in behind) else NEVER

    def _start(self) -> _Place:
        slots = self._program.slots
        is_small = [is_small for is_small, _ in slots.pool_names]
        blocks = Blocks(slots.sizes, slots.pools, is_small, slots.optional)
        return _Place(0, 0, frozenset(), FlatAllocator(blocks, self._program.settings), has_begun=False)

    def _run_freely(self) -> Outcome:
        start = self._start()
        least = self._least()
        apart, above = max(GRAIN, int(least * APART)), least

        def keep(held: int) -> None:
            nonlocal above
            if held > above and len(self._copies) < COPIES:
                copied = start.allocator.under(held)
                place = _Place(self._now, copied.played, frozenset(self._seen), copied, found=self._found)
                self._copies.append(place)
                above = held + apart

        start.allocator.before_growing = keep
        return self._run(start, start.allocator)

    def _run(self, place: _Place, allocator: FlatAllocator) -> Outcome:
        """Go on from a place to the end; the place's own allocator is left alone unless it is the one given."""
        self._seen, self._found = set(place.seen), place.found
        turns = self._turns
        done = place.turn
        for number in range(place.turn, len(turns)):
            turn, is_resumed = turns[number], number == place.turn and place.has_begun
            if turn.is_again and not is_resumed and self._is_settled(allocator):
                if not self._seen:  # the step that is not repeated for this counts as one that was
                    done = number + len(self._repetition.stretches) if self._repetition else number
                break
            self._now, done = number, number + 1
            if number == self._last_step and not is_resumed:
                self._found = allocator.arrangement(), allocator.retries
            allocator.play(turn.stretch.events, place.event if is_resumed else 0)
            if turn.stretch.empties_cache:
                allocator.empty_cache()
        steps = sum(turn.stretch.is_step for turn in turns[:done])
        return Outcome(allocator.peak_allocated, allocator.peak_reserved, allocator.retries, steps)

    def _is_settled(self, allocator: FlatAllocator) -> bool:
        """Move blocks to their next slots; whether this arrangement was there before a repetition already."""
        assert self._repetition is not None
        allocator.move(self._repetition.moves)
        now = allocator.arrangement()
        if now in self._seen or (now, allocator.retries) == self._found:
            return True
        self._seen.add(now)
        return False

    def _last_copy_below(self, limit: int) -> _Place:
        fitting = [copied for copied in self._copies if copied.allocator.peak_reserved <= limit]
        return fitting[-1] if fitting else self._start()

    def _least(self) -> int:
        """What is held at the most, of what cannot be done without: no smaller limit suffices."""
        slots = self._program.slots
        sizes = [0 if slot in slots.optional else size for slot, size in enumerate(slots.sizes)]
        held = (
            sizes[event] if event >= 0 else -sizes[~event]
            for stretch in self._program.stretches
            for event in stretch.events
        )
        return max(accumulate(held), default=0)
