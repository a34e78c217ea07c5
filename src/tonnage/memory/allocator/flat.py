"""The caching allocator under its common settings, as plain numbers: for replays by the thousand events.

A search for the smallest limit replays one step many times, so here the rules of `caching` that hold without
expandable segments, a largest split or garbage collection are written once more without an object per block: a free
block is one number in a sorted list, neighbours are found by address, a slot is an address and a size. The two are
held against each other by tests; `caching` is the reference, and everything unusual is replayed there.

A run under a limit does what a run without one does until the limit first stands in the way. So a run without a
limit can leave copies of itself behind (`under`), and a run under a limit start from the last one that lies below it.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from operator import length_hint

import msgspec

from tonnage.memory.allocator.addresses import AddressSpace
from tonnage.memory.allocator.blocks import ADDRESS, ADDRESS_BITS
from tonnage.memory.allocator.caching import UNBOUNDED, OutOfMemoryError
from tonnage.memory.allocator.settings import AllocatorSettings
from tonnage.memory.allocator.sizes import SMALL, segment_size

NOWHERE = -1


def is_common(settings: AllocatorSettings) -> bool:
    """Whether these settings are among those written down here."""
    return (
        not settings.expandable_segments
        and settings.max_split_size is None
        and not settings.garbage_collection_threshold > 0
    )


class Blocks(msgspec.Struct, frozen=True):
    """What a run asks for: by slot the rounded size and the pool; the slots it can do without, with their plans.

    A plan that once found no room is not tried again: cuDNN's next one is kept for that shape.
    """

    sizes: Sequence[int]
    pools: Sequence[int]
    pool_is_small: Sequence[bool]
    optional: Mapping[int, int]


class FlatAllocator:
    """One device's allocator, playing events over slots; `limit` bounds what it may hold, in bytes."""

    __slots__ = (
        "_addresses",
        "_blocks",
        "_ends",
        "_given_up",
        "_homes",
        "_keys",
        "_limit",
        "_places",
        "_segments",
        "_settings",
        "_starts",
        "_taken",
        "allocated",
        "before_growing",
        "peak_allocated",
        "peak_reserved",
        "played",
        "refused",
        "reserved",
        "retries",
    )

    def __init__(self, blocks: Blocks, settings: AllocatorSettings, limit: int | None = None) -> None:
        self._blocks, self._settings = blocks, settings
        self._limit = UNBOUNDED if limit is None else limit
        self.allocated = self.peak_allocated = 0
        self.reserved = self.peak_reserved = 0
        self.retries = 0
        self.refused = UNBOUNDED
        """The least that was asked for and not granted at once. Under any limit from `peak_reserved` up to below
        this, the same would have been granted and refused."""
        self.played = 0
        """Events of this stretch so far."""
        self.before_growing: Callable[[int], None] | None = None
        """Told what would be held, before a segment is asked of the driver."""
        self._addresses = AddressSpace()
        self._keys: list[list[int]] = [[] for _ in blocks.pool_is_small]
        """By pool: size and address of every free block as one number, rising."""
        self._starts: dict[int, int] = {}
        """Size of every free block by its first address."""
        self._ends: dict[int, int] = {}
        """First address of every free block by the address behind its last."""
        self._segments: dict[int, tuple[int, int]] = {}
        """Size and pool of every segment by its first address."""
        self._places = [NOWHERE] * len(blocks.sizes)
        self._taken = [0] * len(blocks.sizes)
        """By slot: where its block lies, and how large it is with what could not be split off."""
        self._given_up: set[int] = set()
        """Plans that found no room."""
        self._homes = list(blocks.pools)
        """By slot: the pool its block goes back to; a block keeps its own when it changes slots."""

    def under(self, limit: int) -> FlatAllocator:
        """A copy that goes on from here under a limit."""
        other = copy(self)
        other._limit = limit
        other.before_growing = None
        other._addresses = self._addresses.copy()
        other._keys = [list(keys) for keys in self._keys]
        other._starts, other._ends = dict(self._starts), dict(self._ends)
        other._segments = dict(self._segments)
        other._given_up = set(self._given_up)
        other._places, other._taken, other._homes = list(self._places), list(self._taken), list(self._homes)
        return other

    def play(self, events: Sequence[int], begin: int = 0) -> None:  # noqa: PLR0915  flat on purpose
        """Take (`slot`) and free (`~slot`) in order from `begin` on; raise OutOfMemoryError at the limit.

        Written flat, because a cap search plays hundreds of thousands of events.
        """
        sizes, pool_of, optional = self._blocks.sizes, self._blocks.pools, self._blocks.optional
        pools, starts, ends, segments = self._keys, self._starts, self._ends, self._segments
        places, taken, homes, given_up = self._places, self._taken, self._homes, self._given_up
        least_rest = [1 if is_small else SMALL + 1 for is_small in self._blocks.pool_is_small]
        allocated, peak = self.allocated, self.peak_allocated
        waiting = iter(events[begin:] if begin else events)
        number = length_hint(waiting)
        for event in waiting:
            if event >= 0:
                if given_up and optional.get(event) in given_up:
                    continue
                size, pool = sizes[event], pool_of[event]
                keys = pools[pool]
                at = bisect_left(keys, size << ADDRESS_BITS)
                if at < len(keys):
                    key = keys.pop(at)
                    place, room = key & ADDRESS, key >> ADDRESS_BITS
                    del starts[place]
                else:
                    self.allocated, self.peak_allocated = allocated, peak
                    self.played = begin + number - length_hint(waiting) - 1
                    room = self._grow(size)
                    if not room:
                        if event in optional:
                            given_up.add(optional[event])
                            continue
                        wanted = segment_size(size, self._settings)
                        raise OutOfMemoryError(wanted, self.reserved, allocated, self._limit)
                    place = self._addresses.take(room)
                    segments[place] = (room, pool)
                rest = room - size
                if rest >= least_rest[pool]:
                    start = place + size
                    starts[start] = rest
                    ends[start + rest] = start
                    insort(keys, rest << ADDRESS_BITS | start)
                    room = size
                else:
                    ends.pop(place + room, None)
                places[event], taken[event], homes[event] = place, room, pool
                allocated += room
                if allocated > peak:  # noqa: PLR1730  a call of max() costs a tenth of this path
                    peak = allocated
            else:
                place = places[~event]
                if place < 0:
                    continue
                places[~event] = NOWHERE
                room = taken[~event]
                allocated -= room
                keys = pools[homes[~event]]
                end = place + room
                after = starts.get(end)
                if after is not None and end not in segments:
                    del starts[end], keys[bisect_left(keys, after << ADDRESS_BITS | end)]
                    room += after
                    end += after
                before = ends.get(place)
                if before is not None and place not in segments:
                    del ends[place]
                    del keys[bisect_left(keys, (place - before) << ADDRESS_BITS | before)]
                    room += place - before
                    place = before
                starts[place] = room
                ends[end] = place
                insort(keys, room << ADDRESS_BITS | place)
        self.allocated, self.peak_allocated = allocated, peak
        self.played = begin + number

    def empty_cache(self) -> None:
        """Give every wholly free segment back to the driver."""
        starts, segments = self._starts, self._segments
        whole = [place for place, (size, _) in segments.items() if starts.get(place) == size]
        for place in whole:
            size, pool = segments.pop(place)
            keys = self._keys[pool]
            del keys[bisect_left(keys, size << ADDRESS_BITS | place)]
            del starts[place]
            self._ends.pop(place + size)
            self.reserved -= size
            self._addresses.give_back(place, size)

    def move(self, moves: Sequence[tuple[int, int]]) -> None:
        """Blocks change the slots they are known by."""
        places, taken, homes = self._places, self._taken, self._homes
        moving = [(target, places[source], taken[source], homes[source]) for source, target in moves]
        for source, _ in moves:
            places[source] = NOWHERE
        for target, place, size, home in moving:
            places[target], taken[target], homes[target] = place, size, home

    def arrangement(self) -> object:
        """All that later events depend on: free memory, and where each slot's block lies."""
        held = tuple((slot, place) for slot, place in enumerate(self._places) if place >= 0)
        return tuple(map(tuple, self._keys)), held, frozenset(self._given_up)

    def _grow(self, size: int) -> int:
        """A new segment's size, counted as held; 0 where the limit does not allow it, whatever is given back."""
        wanted = segment_size(size, self._settings)
        if self.before_growing is not None:
            self.before_growing(self.reserved + wanted)
        if self._is_refused(wanted):
            self.empty_cache()
            self.retries += 1
            if self._is_refused(wanted):
                return 0
        self.reserved += wanted
        self.peak_reserved = max(self.peak_reserved, self.reserved)
        return wanted

    def _is_refused(self, wanted: int) -> bool:
        """Whether the limit leaves no room for so much more."""
        total = self.reserved + wanted
        if total <= self._limit:
            return False
        self.refused = min(self.refused, total)
        return True
