"""Segments that grow in place (`expandable_segments:True`).

One reserved range of addresses per pool, larger than the device; memory is mapped into it page by page (2 MiB for
small blocks, 20 MiB for large ones) at the lowest place where the request fits, and whole free pages are unmapped
only when the limit presses. Growing never fails by itself here: the caller has compared the request with the
limit, as torch does, so the last page may pass the limit by less than a page.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tonnage.memory.allocator.addresses import AddressSpace
from tonnage.memory.allocator.blocks import (
    ADDRESS_BITS,
    FREE,
    UNMAPPED,
    USED,
    Block,
    Pool,
    Segment,
    absorb_next,
    split_off,
)
from tonnage.memory.allocator.sizes import SMALL_SEGMENT

if TYPE_CHECKING:
    from tonnage.memory.allocator.caching import CachingAllocator


class ExpandableSegments:
    """The growing segments of one allocator."""

    def __init__(self, allocator: CachingAllocator, device_bytes: int) -> None:
        self._allocator = allocator
        # An eighth more than the device has, so that pages can be mapped at the end before others are unmapped.
        self._span = device_bytes + device_bytes // 8
        self._addresses = AddressSpace()

    def prefer(self, pool: Pool, place: int) -> Block:
        """The best fit from `place` on, counting a block at the mapped end as large as it can grow."""
        best = pool.at(place)
        for key_place in range(place + 1, len(pool.keys)):
            following = pool.at(key_place)
            if _growable_size(following) >= _growable_size(best):
                break
            best = following
        return best

    def grow(self, size: int, pool: Pool) -> Block:
        """Map what a request needs at the lowest place where it fits; the block leaves its pool."""
        block = self._place_for(size, pool)
        if block.state == UNMAPPED:
            block = self._map(block, min(block.size, size))
        while block.size < size:
            after = block.next
            assert after is not None
            block = self._map(after, min(size - block.size, after.size))
        pool.remove(block)
        return block

    def release(self, pool: Pool) -> None:
        """Unmap every page that is wholly free."""
        for block in [pool.blocks[key & ((1 << ADDRESS_BITS) - 1)] for key in pool.keys]:
            unmapped = self._unmap(block)
            if unmapped is not None and unmapped.is_whole_segment:
                del pool.unmapped[unmapped.address]
                self._addresses.give_back(unmapped.address, unmapped.size)

    def _place_for(self, size: int, pool: Pool) -> Block:
        """The first of a run of free or unmapped blocks with room for the request."""
        for address in sorted(pool.unmapped):
            block = pool.unmapped[address]
            before = block.previous
            if before is not None and before.state != USED:
                block = before
            if _room(block, size) >= size:
                return block
        page = SMALL_SEGMENT if pool.is_small else self._allocator.settings.large_segment_size
        span = -(-self._span // page) * page
        segment = Segment(self._addresses.take(span), span, page)
        block = Block(segment.address, span, pool, segment)
        block.state = UNMAPPED
        pool.unmapped[block.address] = block
        return block

    def _map(self, block: Block, size: int) -> Block:
        """Put memory behind the start of an unmapped block; the free block it becomes part of is returned."""
        pool, segment = block.pool, block.segment
        assert segment is not None
        mapped = -(-size // segment.page) * segment.page
        del pool.unmapped[block.address]
        if mapped < block.size:
            rest = split_off(block, mapped)
            rest.state = UNMAPPED
            pool.unmapped[rest.address] = rest
        self._allocator.hold(mapped)
        after = block.next
        if after is not None and after.state == FREE:
            pool.remove(after)
            absorb_next(block)
        before = block.previous
        if before is not None and before.state == FREE:
            pool.remove(before)
            absorb_next(before)
            block = before
        pool.add(block)
        return block

    def _unmap(self, block: Block) -> Block | None:
        """Take the memory from behind the whole pages of a free block; the unmapped block, if there is one."""
        pool, segment = block.pool, block.segment
        assert segment is not None
        page, start = segment.page, segment.address
        first = start + -(-(block.address - start) // page) * page
        last = start + (block.address + block.size - start) // page * page
        if last <= first:
            return None
        pool.remove(block)
        if block.address + block.size > last:
            pool.add(split_off(block, last - block.address))
        if first > block.address:
            rest = split_off(block, first - block.address)
            pool.add(block)
            block = rest
        block.state = UNMAPPED
        self._allocator.reserved -= block.size
        after = block.next
        if after is not None and after.state == UNMAPPED:
            del pool.unmapped[after.address]
            absorb_next(block)
        before = block.previous
        if before is not None and before.state == UNMAPPED:
            del pool.unmapped[before.address]
            absorb_next(before)
            block = before
        pool.unmapped[block.address] = block
        return block


def _growable_size(block: Block) -> int:
    after = block.next
    return block.size + (after.size if after is not None and after.state == UNMAPPED else 0)


def _room(block: Block | None, wanted: int) -> int:
    """Bytes of free and unmapped blocks in a row from here, counted until there are enough."""
    room = 0
    while room < wanted and block is not None and block.state != USED:
        room += block.size
        block = block.next
    return room
