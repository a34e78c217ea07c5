"""Where the driver puts a new segment.

Two cached blocks of one size are told apart by their addresses, and a step has thousands of equal blocks, so the
order of addresses decides fragmentation too. No document describes it; this is what the addresses of segments on an
H200 (driver 580, CUDA 13) show, in runs with and without memory pressure:

- device memory is reserved in ranges that are multiples of 32 MiB, from high addresses down, the highest hole that
  has room to spare first;
- what a segment leaves over of its range serves later segments that are small enough, the lowest such place first,
  and only where there is none a new range is reserved;
- a range goes back when its last segment does.

Only the order matters, so the top is arbitrary; it is high enough for every step that an estimate is asked for, however
little of it any device could hold.
"""

from __future__ import annotations

from bisect import bisect_left, insort

from tonnage.memory.allocator.blocks import ADDRESS_BITS

RANGE = 32 << 20
TOP = 1 << ADDRESS_BITS


class AddressSpace:
    """Virtual addresses of one device."""

    __slots__ = ("_bottom", "_holes", "_homes", "_places", "_ranges", "_rooms", "_too_large")

    def __init__(self) -> None:
        self._bottom = TOP
        """Below it nothing was ever reserved."""
        self._holes: list[tuple[int, int]] = []
        """Ranges that were given back: (start, size), rising, neighbours made one."""
        self._places: list[int] = []
        """Starts of free places inside reserved ranges, rising; `_rooms` has their sizes."""
        self._rooms: dict[int, int] = {}
        self._homes: dict[int, int] = {}
        """Which range a segment or a free place lies in, by its start."""
        self._ranges: dict[int, tuple[int, int]] = {}
        """Size of every reserved range, and the segments in it."""
        self._too_large = 0
        """No free place is as large as this, so that most searches need not be made."""

    def copy(self) -> AddressSpace:
        """The same addresses, to go on from apart."""
        other = AddressSpace()
        other._bottom = self._bottom
        other._holes, other._places = list(self._holes), list(self._places)
        other._rooms, other._homes = dict(self._rooms), dict(self._homes)
        other._ranges, other._too_large = dict(self._ranges), self._too_large
        return other

    def take(self, size: int) -> int:
        """Where a segment of this size goes."""
        if size < self._too_large:
            rooms = self._rooms
            for place in self._places:
                if rooms[place] >= size:
                    return self._settle(place, size)
            self._too_large = size
        home = self._reserve(-(-size // RANGE) * RANGE)
        return self._settle(home, size)

    def give_back(self, start: int, size: int) -> None:
        """A segment returns to the driver."""
        home = self._homes[start]
        whole, segments = self._ranges[home]
        self._ranges[home] = (whole, segments - 1)
        self._add_place(start, size, home)
        if segments == 1:
            self._release(home, whole)

    def _settle(self, place: int, size: int) -> int:
        """Put a segment at the start of a free place."""
        home, room = self._homes[place], self._rooms.pop(place)
        self._places.pop(bisect_left(self._places, place))
        if room > size:
            insort(self._places, place + size)
            self._rooms[place + size] = room - size
            self._homes[place + size] = home
            self._too_large = max(self._too_large, room - size + 1)
        whole, segments = self._ranges[home]
        self._ranges[home] = (whole, segments + 1)
        return place

    def _add_place(self, start: int, size: int, home: int) -> None:
        """A free place inside a range; neighbours become one."""
        position = bisect_left(self._places, start)
        if position < len(self._places):
            after = self._places[position]
            if after == start + size and self._homes[after] == home:
                del self._places[position], self._homes[after]
                size += self._rooms.pop(after)
        if position > 0:
            before = self._places[position - 1]
            if before + self._rooms[before] == start and self._homes[before] == home:
                self._rooms[before] += size
                self._too_large = max(self._too_large, self._rooms[before] + 1)
                del self._homes[start]
                return
        self._places.insert(position, start)
        self._rooms[start] = size
        self._too_large = max(self._too_large, size + 1)

    def _reserve(self, size: int) -> int:
        """A new range, all of it free."""
        start = self._from_holes(size)
        if start is None:
            self._bottom -= size
            start = self._bottom
        self._ranges[start] = (size, 0)
        self._homes[start] = start
        insort(self._places, start)
        self._rooms[start] = size
        return start

    def _from_holes(self, size: int) -> int | None:
        """The upper end of the highest hole with room to spare."""
        for number in range(len(self._holes) - 1, -1, -1):
            start, room = self._holes[number]
            if room > size:
                self._holes[number] = (start, room - size)
                return start + room - size
        return None

    def _release(self, home: int, size: int) -> None:
        """Give a range without segments back."""
        self._places.pop(bisect_left(self._places, home))
        del self._rooms[home], self._homes[home], self._ranges[home]
        position = bisect_left(self._holes, (home, 0))
        if position < len(self._holes) and self._holes[position][0] == home + size:
            size += self._holes.pop(position)[1]
        if position > 0 and sum(self._holes[position - 1]) == home:
            before = self._holes.pop(position - 1)
            home, size, position = before[0], before[1] + size, position - 1
        self._holes.insert(position, (home, size))
