"""Blocks, and the pools free ones wait in.

A segment is a chain of blocks by address. A pool holds the free blocks of one stream and one kind (small or large),
sorted by size and then by address: the first that is large enough is the best fit, with the lower address winning
a tie. The sort key is one integer (size above address), because a replay compares millions of them.
"""

from __future__ import annotations

from bisect import bisect_left, insort

FREE, USED, UNMAPPED = 0, 1, 2

ADDRESS_BITS = 80
ADDRESS = (1 << ADDRESS_BITS) - 1


class Block:
    """A range of one segment, with its neighbours."""

    __slots__ = ("address", "born", "next", "pool", "previous", "segment", "size", "state")

    def __init__(self, address: int, size: int, pool: Pool, segment: Segment | None = None) -> None:
        self.address = address
        self.size = size
        self.pool = pool
        self.previous: Block | None = None
        self.next: Block | None = None
        self.state = USED
        self.born = 0
        """How many searches the pool had seen when this block was put into it; garbage collection asks."""
        self.segment = segment
        """The growing segment it lies in; nothing for an ordinary one."""

    @property
    def is_whole_segment(self) -> bool:
        return self.previous is None and self.next is None


class Segment:
    """A growing segment: a reserved range of addresses of which a part is mapped, in pages."""

    __slots__ = ("address", "page", "size")

    def __init__(self, address: int, size: int, page: int) -> None:
        self.address = address
        self.size = size
        self.page = page


class Pool:
    """The free blocks of one stream and kind."""

    __slots__ = ("blocks", "is_small", "keys", "stream", "unmapped")

    def __init__(self, is_small: bool, stream: int) -> None:
        self.is_small = is_small
        self.stream = stream
        self.keys: list[int] = []
        """Size and address of every free block as one number, rising."""
        self.blocks: dict[int, Block] = {}
        """The same blocks by address."""
        self.unmapped: dict[int, Block] = {}
        """Parts of growing segments that have no memory behind them, by address."""

    def add(self, block: Block) -> None:
        block.state = FREE
        insort(self.keys, block.size << ADDRESS_BITS | block.address)
        self.blocks[block.address] = block

    def remove(self, block: Block) -> None:
        keys = self.keys
        del keys[bisect_left(keys, block.size << ADDRESS_BITS | block.address)]
        del self.blocks[block.address]

    def at(self, place: int) -> Block:
        """The block at this place in the order of keys."""
        return self.blocks[self.keys[place] & ADDRESS]


def split_off(block: Block, size: int) -> Block:
    """Cut a block after `size` bytes; the rest, spliced in behind it, is returned."""
    rest = Block(block.address + size, block.size - size, block.pool, block.segment)
    rest.previous, rest.next = block, block.next
    if block.next is not None:
        block.next.previous = rest
    block.next = rest
    block.size = size
    return rest


def absorb_next(block: Block) -> None:
    """Make one block of a block and its right neighbour."""
    after = block.next
    assert after is not None
    block.size += after.size
    block.next = after.next
    if after.next is not None:
        after.next.previous = block
