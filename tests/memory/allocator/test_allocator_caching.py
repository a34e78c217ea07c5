"""The allocator's rules, worked by hand from `CUDACachingAllocator.cpp`."""

from __future__ import annotations

import pytest

from tonnage.memory.allocator import AllocatorSettings, CachingAllocator, OutOfMemoryError
from tonnage.memory.allocator.sizes import round_size, segment_size

MIB = 2**20
KIB = 2**10


@pytest.mark.parametrize(
    ("asked", "given"), [(1, 512), (512, 512), (513, 1024), (MIB, MIB), (3 * MIB + 1, 3 * MIB + 512)]
)
def test_requests_are_rounded_to_512_bytes(asked: int, given: int):
    assert round_size(asked) == given


def test_power_of_two_divisions_round_up_to_the_next_step():
    settings = AllocatorSettings(roundup_power2_divisions=(4,) * 16)
    # torch's own example: 1200 with 4 divisions is 1280 (here in KiB, to be above 512 x 4 bytes).
    assert round_size(1200 * KIB, settings) == 1280 * KIB
    assert round_size(1024 * KIB, settings) == 1024 * KIB
    assert round_size(1500, settings) == 1536


@pytest.mark.parametrize(
    ("size", "segment"),
    [(512, 2 * MIB), (MIB, 2 * MIB), (MIB + 512, 20 * MIB), (10 * MIB - 512, 20 * MIB), (10 * MIB, 10 * MIB)],
)
def test_the_driver_is_asked_for_2_or_20_mib_or_the_size_itself(size: int, segment: int):
    assert segment_size(size) == segment


def test_large_segments_are_multiples_of_2_mib():
    allocator = CachingAllocator()
    allocator.malloc(33 * MIB + 1)
    assert allocator.reserved == 34 * MIB
    # What is left is 1 MiB or less: it is not split off, and counts as allocated.
    assert allocator.allocated == 34 * MIB


def test_small_requests_share_a_2_mib_segment():
    allocator = CachingAllocator()
    for _ in range(4):
        allocator.malloc(512 * KIB)
    assert (allocator.allocated, allocator.reserved) == (2 * MIB, 2 * MIB)
    allocator.malloc(1)
    assert allocator.reserved == 4 * MIB


def test_requests_of_1_to_10_mib_share_a_20_mib_segment():
    allocator = CachingAllocator()
    first, second = allocator.malloc(9 * MIB), allocator.malloc(9 * MIB)
    assert first is not None
    assert second is not None
    assert second.address == first.address + 9 * MIB
    assert allocator.reserved == 20 * MIB


def test_the_smallest_block_that_fits_is_taken_the_lower_address_on_a_tie():
    allocator = CachingAllocator()
    large, one, other = (allocator.malloc(size * MIB) for size in (40, 30, 30))
    assert one is not None
    assert other is not None
    lower = min(one.address, other.address)
    for block in (large, other, one):
        allocator.free(block)
    again = allocator.malloc(29 * MIB)
    assert again is not None
    assert again.address == lower


def test_a_freed_block_becomes_one_with_its_neighbours():
    allocator = CachingAllocator()
    blocks = [allocator.malloc(4 * MIB) for _ in range(5)]
    assert allocator.reserved == 20 * MIB
    for block in (blocks[0], blocks[2], blocks[4], blocks[1], blocks[3]):
        allocator.free(block)
    whole = allocator.malloc(20 * MIB)
    assert whole is not None
    assert (whole.size, allocator.reserved) == (20 * MIB, 20 * MIB)


def test_streams_do_not_share_blocks():
    allocator = CachingAllocator()
    allocator.free(allocator.malloc(30 * MIB, stream=0))
    allocator.malloc(30 * MIB, stream=1)
    assert allocator.reserved == 60 * MIB


def test_at_the_limit_wholly_free_segments_are_given_back_and_it_is_tried_again():
    allocator = CachingAllocator(limit=100 * MIB)
    allocator.free(allocator.malloc(60 * MIB))
    allocator.malloc(80 * MIB)
    assert (allocator.retries, allocator.reserved) == (1, 80 * MIB)


def test_a_split_segment_is_not_given_back():
    allocator = CachingAllocator(limit=100 * MIB)
    large = allocator.malloc(60 * MIB)
    allocator.free(large)
    allocator.malloc(30 * MIB)
    with pytest.raises(OutOfMemoryError) as failure:
        allocator.malloc(60 * MIB)
    assert (failure.value.reserved, failure.value.limit) == (60 * MIB, 100 * MIB)
    assert allocator.retries == 1


def test_the_limit_itself_may_be_reached():
    allocator = CachingAllocator(limit=100 * MIB)
    allocator.malloc(100 * MIB)
    with pytest.raises(OutOfMemoryError):
        allocator.malloc(1)


def test_emptying_the_cache_gives_back_what_is_whole():
    allocator = CachingAllocator()
    kept = allocator.malloc(2 * MIB)
    allocator.free(allocator.malloc(50 * MIB))
    allocator.free(allocator.malloc(1000))
    allocator.empty_cache()
    assert allocator.reserved == 20 * MIB
    allocator.free(kept)
    allocator.empty_cache()
    assert allocator.reserved == 0


def test_a_block_another_stream_uses_waits_until_the_device_has_caught_up():
    allocator = CachingAllocator()
    block = allocator.malloc(30 * MIB)
    allocator.free_when_done(block)
    assert allocator.allocated == 0
    allocator.malloc(30 * MIB)
    assert allocator.reserved == 60 * MIB
    allocator.catch_up()
    allocator.malloc(30 * MIB)
    assert allocator.reserved == 60 * MIB


def test_before_it_fails_the_device_is_waited_for():
    allocator = CachingAllocator(limit=60 * MIB)
    allocator.free_when_done(allocator.malloc(40 * MIB))
    allocator.malloc(50 * MIB)
    assert (allocator.retries, allocator.reserved) == (1, 50 * MIB)


def test_blocks_of_max_split_size_and_more_are_not_split():
    allocator = CachingAllocator(AllocatorSettings(max_split_size=64 * MIB))
    allocator.free(allocator.malloc(100 * MIB))
    # Too small a request may not have it, a near one may, whole.
    allocator.malloc(30 * MIB)
    assert allocator.reserved == 130 * MIB
    near = allocator.malloc(90 * MIB)
    assert near is not None
    assert (near.size, allocator.reserved) == (100 * MIB, 130 * MIB)


def test_an_unsplittable_block_20_mib_too_large_is_left_alone():
    allocator = CachingAllocator(AllocatorSettings(max_split_size=64 * MIB))
    allocator.free(allocator.malloc(100 * MIB))
    allocator.malloc(80 * MIB)
    assert allocator.reserved == 180 * MIB


def test_with_max_split_size_one_oversized_block_makes_room_without_a_retry():
    allocator = CachingAllocator(AllocatorSettings(max_split_size=64 * MIB), limit=220 * MIB)
    allocator.free(allocator.malloc(100 * MIB))
    allocator.malloc(100 * MIB + 1)
    allocator.malloc(70 * MIB)
    assert allocator.retries == 0
    assert allocator.reserved == 172 * MIB


def test_garbage_collection_gives_back_old_segments_above_the_threshold():
    settings = AllocatorSettings(garbage_collection_threshold=0.5)
    allocator = CachingAllocator(settings, limit=200 * MIB)
    allocator.free(allocator.malloc(90 * MIB))
    allocator.malloc(96 * MIB)
    assert (allocator.reserved, allocator.retries) == (186 * MIB, 0)
    allocator.malloc(100 * MIB)  # without collecting, this would pass the limit and be a retry
    assert (allocator.reserved, allocator.retries) == (196 * MIB, 0)


def test_garbage_collection_needs_a_limit():
    allocator = CachingAllocator(AllocatorSettings(garbage_collection_threshold=0.1))
    allocator.free(allocator.malloc(90 * MIB))
    allocator.malloc(96 * MIB)
    assert allocator.reserved == 186 * MIB


def test_an_empty_request_takes_nothing():
    allocator = CachingAllocator()
    assert allocator.malloc(0) is None
    allocator.free(None)
    assert allocator.reserved == 0
