"""The caching allocator: find a block, split it, merge it back, grow, give back, fail.

Follows `DeviceCachingAllocator` of torch 2.11. A request is rounded and looked for among the free blocks of its
stream; where none fits, the driver is asked for a segment; where that would pass the limit, cached segments that
are wholly free are given back and the driver is asked once more (a retry), and only then is it out of memory. The
limit is `torch.cuda.set_per_process_memory_fraction`: what is held plus what is asked for may not pass it.

The hot path (`take`, `free`) is written flat: a cap search replays millions of events.
"""

from __future__ import annotations

from bisect import bisect_left, insort

from tonnage.memory.allocator.addresses import AddressSpace
from tonnage.memory.allocator.blocks import ADDRESS, ADDRESS_BITS, FREE, USED, Block, Pool
from tonnage.memory.allocator.expandable import ExpandableSegments
from tonnage.memory.allocator.settings import DEFAULT, AllocatorSettings
from tonnage.memory.allocator.sizes import SMALL, SMALLEST, round_size, segment_size

UNBOUNDED = 1 << ADDRESS_BITS


class OutOfMemoryError(Exception):
    """A request that cannot be served under the limit, whatever is given back."""

    def __init__(self, size: int, reserved: int, allocated: int, limit: int) -> None:
        super().__init__(f"{size} bytes asked for, {reserved} of {limit} held, {allocated} in use")
        self.size = size
        self.reserved = reserved
        self.allocated = allocated
        self.limit = limit


class CachingAllocator:
    """One device's allocator; `limit` bounds what it may hold, in bytes."""

    __slots__ = (
        "_addresses",
        "_collects_garbage",
        "_expandable",
        "_is_plain",
        "_limit",
        "_pools",
        "_searches",
        "_waiting",
        "allocated",
        "peak_allocated",
        "peak_reserved",
        "reserved",
        "retries",
        "segments",
        "settings",
    )

    def __init__(
        self,
        settings: AllocatorSettings = DEFAULT,
        *,
        limit: int | None = None,
        device_bytes: int = 1 << 38,
    ) -> None:
        self.settings = settings
        self.allocated = self.peak_allocated = 0
        self.reserved = self.peak_reserved = 0
        self.retries = 0
        self.segments: dict[int, Block] = {}
        """First block of every ordinary segment, by address."""
        self._limit = UNBOUNDED if limit is None else limit
        self._addresses = AddressSpace()
        self._pools: dict[tuple[bool, int], Pool] = {}
        self._waiting: list[Block] = []
        self._searches = 0
        self._collects_garbage = settings.garbage_collection_threshold > 0 and limit is not None
        self._expandable = ExpandableSegments(self, device_bytes) if settings.expandable_segments else None
        self._is_plain = (
            self._expandable is None and settings.max_split_size is None and not self._collects_garbage
        )

    def malloc(self, size: int, stream: int = 0) -> Block | None:
        """A block for a request of this many bytes; none for an empty one. Raise OutOfMemoryError at the limit."""
        if size == 0:
            return None
        rounded = round_size(size, self.settings)
        return self.take(rounded, self.pool(rounded, stream))

    def pool(self, size: int, stream: int) -> Pool:
        """The pool that serves this (rounded) size on this stream."""
        key = (size <= SMALL, stream)
        pool = self._pools.get(key)
        if pool is None:
            pool = self._pools[key] = Pool(*key)
        return pool

    def take(self, size: int, pool: Pool) -> Block:
        """A block of a size that is rounded already, from its pool."""
        keys = pool.keys
        place = bisect_left(keys, size << ADDRESS_BITS)
        if place < len(keys) and self._is_plain:
            block = pool.blocks.pop(keys.pop(place) & ADDRESS)
        else:
            block = self._find(size, pool) or self._grow(size, pool)
        rest = block.size - size
        if rest and self._splits(size, rest, pool):
            address = block.address + size
            remainder = Block(address, rest, pool, block.segment)
            remainder.previous = block
            after = remainder.next = block.next
            if after is not None:
                after.previous = remainder
            block.next = remainder
            block.size = size
            remainder.state = FREE
            remainder.born = self._searches
            insort(keys, rest << ADDRESS_BITS | address)
            pool.blocks[address] = remainder
        block.state = USED
        self.allocated += block.size
        if self.allocated > self.peak_allocated:  # noqa: PLR1730  a call of max() costs a tenth of this path
            self.peak_allocated = self.allocated
        return block

    def free(self, block: Block | None) -> None:
        """Return a block; it becomes one with free neighbours."""
        if block is None:
            return
        self.allocated -= block.size
        self._put_back(block)

    def free_when_done(self, block: Block | None) -> None:
        """Return a block that another stream may still use: it waits until the device has caught up."""
        if block is None:
            return
        self.allocated -= block.size
        self._waiting.append(block)

    def finish(self, block: Block) -> None:
        """The device is done with one block that waited for it."""
        if block in self._waiting:
            self._waiting.remove(block)
            self._put_back(block)

    def catch_up(self) -> None:
        """The device has finished its work: blocks that waited for it are free."""
        waiting, self._waiting = self._waiting, []
        for block in waiting:
            self._put_back(block)

    def empty_cache(self) -> None:
        """Give every wholly free segment back to the driver (`torch.cuda.empty_cache`, and before a retry)."""
        self.catch_up()
        for pool in sorted(self._pools.values(), key=lambda pool: (pool.is_small, pool.stream)):
            self._release_whole(pool)
            if self._expandable is not None:
                self._expandable.release(pool)

    def arrangement(self) -> tuple[int, ...]:
        """Everything about free memory that later decisions depend on, for comparing two moments."""
        pools = self._pools
        return tuple(
            key for name in sorted(pools) for key in (-1, *pools[name].keys, -2, *pools[name].unmapped)
        )

    def fits(self, size: int) -> bool:
        """Whether the limit allows holding this much more."""
        return self.reserved + size <= self._limit

    def hold(self, size: int) -> None:
        """Count memory taken from the driver."""
        self.reserved += size
        self.peak_reserved = max(self.peak_reserved, self.reserved)

    def _put_back(self, block: Block) -> None:
        pool = block.pool
        keys, blocks = pool.keys, pool.blocks
        after = block.next
        if after is not None and after.state == FREE:
            del keys[bisect_left(keys, after.size << ADDRESS_BITS | after.address)]
            del blocks[after.address]
            block.size += after.size
            beyond = block.next = after.next
            if beyond is not None:
                beyond.previous = block
        before = block.previous
        if before is not None and before.state == FREE:
            # The lower block survives, so that a segment's first block stays the same object.
            del keys[bisect_left(keys, before.size << ADDRESS_BITS | before.address)]
            before.size += block.size
            beyond = before.next = block.next
            if beyond is not None:
                beyond.previous = before
            block = before
        else:
            blocks[block.address] = block
        block.state = FREE
        block.born = self._searches
        insort(keys, block.size << ADDRESS_BITS | block.address)

    def _splits(self, size: int, rest: int, pool: Pool) -> bool:
        if pool.is_small or self._expandable is not None:
            return rest >= SMALLEST
        most = self.settings.max_split_size
        return rest > SMALL and (most is None or size < most)

    def _find(self, size: int, pool: Pool) -> Block | None:
        """The best cached block, by every rule; the flat path in `take` knows only the common ones."""
        if self._collects_garbage and not pool.is_small:
            self._searches += 1
        place = bisect_left(pool.keys, size << ADDRESS_BITS)
        if place == len(pool.keys):
            return None
        block = pool.at(place)
        if self._expandable is not None:
            block = self._expandable.prefer(pool, place)
        most = self.settings.max_split_size
        if most is not None:
            if size < most <= block.size:
                return None
            if size >= most and block.size >= size + self.settings.max_non_split_rounding:
                return None
        pool.remove(block)
        return block

    def _grow(self, size: int, pool: Pool) -> Block:
        """New memory from the driver, giving back what stands in its way."""
        if self._collects_garbage:
            self._collect_garbage()
        wanted = segment_size(size, self.settings)
        block = self._ask_driver(size, wanted, pool)
        if block is None and self._release_oversized(size, pool):
            block = self._ask_driver(size, wanted, pool)
        if block is None:
            self.empty_cache()
            self.retries += 1
            block = self._ask_driver(size, wanted, pool)
        if block is None:
            raise OutOfMemoryError(wanted, self.reserved, self.allocated, self._limit)
        return block

    def _ask_driver(self, size: int, wanted: int, pool: Pool) -> Block | None:
        if not self.fits(wanted):
            return None
        if self._expandable is not None:
            return self._expandable.grow(size, pool)
        self.hold(wanted)
        block = Block(self._addresses.take(wanted), wanted, pool)
        self.segments[block.address] = block
        return block

    def _release_whole(self, pool: Pool) -> None:
        whole = [block for block in pool.blocks.values() if block.segment is None and block.is_whole_segment]
        for block in whole:
            pool.remove(block)
            self._release(block)

    def _release(self, block: Block) -> None:
        """Give one segment back; it is out of its pool already."""
        self.reserved -= block.size
        del self.segments[block.address]
        self._addresses.give_back(block.address, block.size)

    def _release_oversized(self, size: int, pool: Pool) -> bool:
        """With `max_split_size_mb`: give back just enough blocks too large to split; whether it was enough."""
        most = self.settings.max_split_size
        if most is None or self._expandable is not None:
            return False
        key = max(size, most)
        place = bisect_left(pool.keys, key << ADDRESS_BITS)
        if place < len(pool.keys):
            block = pool.at(place)
            pool.remove(block)
            self._release(block)
            return True
        released = 0
        while released < key and pool.keys and pool.at(-1).size >= most:
            block = pool.at(-1)
            pool.remove(block)
            self._release(block)
            released += block.size
        return released >= key

    def _collect_garbage(self) -> None:
        """Above the threshold, give back large segments that were not reused for longer than the average."""
        threshold = int(self.settings.garbage_collection_threshold * self._limit)
        if self.reserved <= threshold:
            return
        target, reclaimed = self.reserved - threshold, 0
        old = [
            block
            for pool in self._pools.values()
            if not pool.is_small
            for block in pool.blocks.values()
            if block.is_whole_segment and block.segment is None
        ]
        while reclaimed < target and old:
            average = sum(self._searches - block.born for block in old) / len(old)
            going = [block for block in old if self._searches - block.born >= average]
            for block in going:
                block.pool.remove(block)
                self._release(block)
                reclaimed += block.size
            old = [block for block in old if self._searches - block.born < average]
