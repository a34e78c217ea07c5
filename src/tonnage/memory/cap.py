"""The smallest limit under which a run trains.

Under pressure the allocator gives wholly free segments back and asks again, so less than the peak of what it would
hold freely is enough; the answer lies between the peaks of allocated and reserved memory. Limits matter only in
steps of 2 MiB, the grain of every segment.

Whether a limit suffices is *not* monotone: a little more room can lead the allocator to keep a segment that later
stands in the way. The figure given is the least limit above which every limit that was tried trains: the border is
found by bisection, then limits above it are probed, and where one fails the search goes on above that one.
"""

from __future__ import annotations

import msgspec

from tonnage.memory.allocator.sizes import GRAIN
from tonnage.memory.program import Program
from tonnage.memory.rehearsing import Rehearsal
from tonnage.memory.repeating import Repetition
from tonnage.memory.replay import Outcome

PROBES = 6


class Cap(msgspec.Struct, frozen=True):
    """The smallest limit, and what happens at it."""

    bytes: int
    retries: int
    """How often the allocator has to give memory back at this limit."""
    tried: int
    """Limits that were replayed."""


def smallest_cap(
    program: Program, peak_allocated: int, peak_reserved: int, repetition: Repetition | None = None
) -> Cap:
    """The smallest limit under which build and steps run, given the peaks of a run without one."""
    search = _Search(Rehearsal(program, repetition=repetition))
    high = -(-peak_reserved // GRAIN) * GRAIN
    # Optional workspaces count in the peak, but it trains without them.
    optional = max((program.slots.sizes[slot] for slot in program.slots.optional), default=0)
    low = max(0, (peak_allocated - optional) // GRAIN * GRAIN - GRAIN)
    best = search.border(low, high)
    failed = search.probe(best, high)
    while failed is not None:
        best = search.border(failed, high)
        failed = search.probe(best, high)
    at_best = search.outcome(best)
    return Cap(best, at_best.retries if at_best is not None else 0, len(search.outcomes))


class _Search:
    """Remembers what was tried."""

    def __init__(self, rehearsal: Rehearsal) -> None:
        self.rehearsal = rehearsal
        self.outcomes: dict[int, Outcome | None] = {}

    def outcome(self, limit: int) -> Outcome | None:
        if limit not in self.outcomes:
            self.outcomes[limit] = self.rehearsal.under(limit)
        return self.outcomes[limit]

    def border(self, low: int, high: int) -> int:
        """A limit that trains while one grain less does not; `low` fails, `high` trains."""
        while high - low > GRAIN:
            middle = (low + high) // 2 // GRAIN * GRAIN
            if self.outcome(middle) is None:
                low = middle
            else:
                high = middle
        return high

    def probe(self, low: int, high: int) -> int | None:
        """The highest of a few limits between two that does not train, if any."""
        limits = {low + (high - low) * part // (PROBES + 1) // GRAIN * GRAIN for part in range(1, PROBES + 1)}
        return next((limit for limit in sorted(limits, reverse=True) if self.outcome(limit) is None), None)
