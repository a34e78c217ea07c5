"""How large a block a request gets, and how much is asked of the driver when no cached block serves.

Constants and rules of `c10/core/AllocatorConfig.h` and `CUDACachingAllocator.cpp` (`round_size`,
`get_allocation_size`); bytes.
"""

from __future__ import annotations

from tonnage.memory.allocator.settings import DEFAULT, INTERVALS, MIB, AllocatorSettings

SMALLEST = 512
"""Every block is a multiple of this."""
SMALL = MIB
"""Largest request that is served from the small pool."""
SMALL_SEGMENT = 2 * MIB
LARGE_ENOUGH = 10 * MIB
"""From here on a request gets a segment of its own size."""
GRAIN = 2 * MIB
"""What such a segment is rounded up to."""


def round_size(size: int, settings: AllocatorSettings = DEFAULT) -> int:
    """The block a request of this many bytes gets.

    >>> round_size(1), round_size(513)
    (512, 1024)
    """
    if size < SMALLEST:
        return SMALLEST
    # log2 of the size in MiB picks the interval; what is smaller than 1 MiB uses the first.
    interval = min(max(size.bit_length() - 21, 0), INTERVALS - 1)
    divisions = settings.roundup_power2_divisions[interval]
    if divisions > 1 and size > SMALLEST * divisions:
        return _next_division(size, divisions)
    return -(-size // SMALLEST) * SMALLEST


def segment_size(size: int, settings: AllocatorSettings = DEFAULT) -> int:
    """What is asked of the driver for a block of this (rounded) size."""
    if size <= SMALL:
        return SMALL_SEGMENT
    if size < LARGE_ENOUGH:
        return settings.large_segment_size
    return -(-size // GRAIN) * GRAIN


def _next_division(size: int, divisions: int) -> int:
    """The next of `divisions` equal steps between two powers of two."""
    if size & (size - 1) == 0:
        return size
    floor = 1 << (size.bit_length() - 1)
    step = floor >> (divisions.bit_length() - 1)
    if step == 0:
        return floor << 1
    return -(-size // step) * step
