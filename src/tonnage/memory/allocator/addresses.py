"""Where the driver puts a new segment.

Two cached blocks of one size are told apart by their addresses, and a step has thousands of equal blocks, so the
order of addresses decides fragmentation too. The model: rising ranges, and a range that was given back is used
again, the lowest that is large enough first. That is an assumption about the driver, not something it documents;
the recorded allocator histories that the tests replay are what holds it to the truth. Only the order matters, so
the base is arbitrary.
"""

from __future__ import annotations

from bisect import bisect_left, insort

BASE = 1 << 32


class AddressSpace:
    """Virtual addresses of one device."""

    __slots__ = ("_end", "_holes", "_sizes")

    def __init__(self) -> None:
        self._end = BASE
        self._holes: list[int] = []
        """Starts of returned ranges, rising; `_sizes` has their lengths."""
        self._sizes: dict[int, int] = {}

    def take(self, size: int) -> int:
        """Where a segment of this size goes."""
        sizes = self._sizes
        for place, start in enumerate(self._holes):
            room = sizes[start]
            if room >= size:
                del self._holes[place], sizes[start]
                if room > size:
                    self._holes.insert(place, start + size)
                    sizes[start + size] = room - size
                return start
        start = self._end
        self._end += size
        return start

    def give_back(self, start: int, size: int) -> None:
        """A segment returns to the driver; neighbouring holes become one."""
        holes, sizes = self._holes, self._sizes
        after = bisect_left(holes, start)
        if after < len(holes) and start + size == holes[after]:
            size += sizes.pop(holes.pop(after))
        if after > 0 and holes[after - 1] + sizes[holes[after - 1]] == start:
            sizes[holes[after - 1]] += size
            return
        insort(holes, start)
        sizes[start] = size
