"""Segments that grow in place, worked by hand."""

from __future__ import annotations

import pytest

from tonnage.memory.allocator import AllocatorSettings, CachingAllocator, OutOfMemoryError

MIB = 2**20
GROWING = AllocatorSettings(expandable_segments=True)


def test_large_blocks_are_mapped_in_pages_of_20_mib():
    allocator = CachingAllocator(GROWING)
    allocator.malloc(30 * MIB)
    assert (allocator.allocated, allocator.reserved) == (30 * MIB, 40 * MIB)
    allocator.malloc(5 * MIB)
    assert allocator.reserved == 40 * MIB


def test_small_blocks_are_mapped_in_pages_of_2_mib():
    allocator = CachingAllocator(GROWING)
    allocator.malloc(100)
    assert allocator.reserved == 2 * MIB


def test_a_segment_grows_by_what_its_free_end_lacks():
    allocator = CachingAllocator(GROWING)
    first = allocator.malloc(30 * MIB)
    second = allocator.malloc(50 * MIB)
    assert first is not None
    assert second is not None
    assert second.address == first.address + 30 * MIB
    # 10 MiB were left of the second page; 40 more make two pages.
    assert allocator.reserved == 80 * MIB


def test_a_free_hole_is_preferred_to_the_growing_end():
    allocator = CachingAllocator(GROWING)
    hole = allocator.malloc(30 * MIB)
    allocator.malloc(20 * MIB)
    assert hole is not None
    where = hole.address
    allocator.free(hole)
    again = allocator.malloc(8 * MIB)
    assert again is not None
    # The 10 MiB at the end fit better by size, but that end can grow: it counts as larger.
    assert again.address == where


def test_whole_free_pages_are_unmapped_at_the_limit():
    allocator = CachingAllocator(GROWING, limit=120 * MIB)
    large = allocator.malloc(100 * MIB)
    allocator.free(large)
    allocator.malloc(10 * MIB)
    assert allocator.reserved == 100 * MIB
    allocator.malloc(80 * MIB)
    assert (allocator.retries, allocator.reserved) == (0, 100 * MIB)


def test_memory_moves_between_pools_by_unmapping():
    allocator = CachingAllocator(GROWING, limit=100 * MIB)
    allocator.free(allocator.malloc(100 * MIB, stream=0))
    allocator.malloc(90 * MIB, stream=1)
    assert allocator.retries == 1
    assert allocator.reserved == 100 * MIB


def test_it_fails_when_no_page_is_free():
    allocator = CachingAllocator(GROWING, limit=100 * MIB)
    kept = [allocator.malloc(20 * MIB) for _ in range(5)]
    with pytest.raises(OutOfMemoryError):
        allocator.malloc(2 * MIB)
    allocator.free(kept[2])
    allocator.malloc(2 * MIB)
    assert allocator.reserved == 100 * MIB


def test_unmapped_pages_are_mapped_again_at_the_lowest_place():
    allocator = CachingAllocator(GROWING)
    first = allocator.malloc(40 * MIB)
    second = allocator.malloc(40 * MIB)
    assert first is not None
    start = first.address
    allocator.free(first)
    allocator.empty_cache()
    assert allocator.reserved == 40 * MIB
    again = allocator.malloc(40 * MIB)
    assert again is not None
    assert (again.address, allocator.reserved) == (start, 80 * MIB)
    allocator.free(second)
    allocator.free(again)
    allocator.empty_cache()
    assert allocator.reserved == 0
