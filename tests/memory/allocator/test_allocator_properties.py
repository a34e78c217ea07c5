"""What holds for every sequence of requests under every setting."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from tonnage.memory.allocator import AllocatorSettings, CachingAllocator, OutOfMemoryError
from tonnage.memory.allocator.blocks import Block

MIB = 2**20

SIZES = st.one_of(
    st.integers(1, 4 * MIB),
    st.integers(1, 200 * MIB),
    st.sampled_from([512, MIB, MIB + 1, 10 * MIB, 20 * MIB]),
)
STEPS = st.lists(
    st.tuples(st.sampled_from("tttff!"), SIZES, st.integers(0, 1), st.integers(0, 1000)), max_size=60
)
SETTINGS = st.builds(
    AllocatorSettings,
    expandable_segments=st.booleans(),
    max_split_size=st.sampled_from([None, 20 * MIB, 64 * MIB]),
    garbage_collection_threshold=st.sampled_from([0.0, 0.5, 0.9]),
    roundup_power2_divisions=st.sampled_from([(0,) * 16, (4,) * 16]),
)
LIMITS = st.sampled_from([None, 100 * MIB, 400 * MIB])
PAGE = 20 * MIB


def run(allocator: CachingAllocator, steps: Iterable[tuple[str, int, int, int]]) -> list[Block]:
    """Take, free and empty as told; what does not fit is not taken. The blocks still in use."""
    alive: list[Block] = []
    for kind, size, stream, which in steps:
        if kind == "t":
            try:
                block = allocator.malloc(size, stream)
            except OutOfMemoryError:
                continue
            assert block is not None
            assert block.size >= size
            alive.append(block)
        elif kind == "f" and alive:
            allocator.free(alive.pop(which % len(alive)))
        elif kind == "!":
            allocator.empty_cache()
    return alive


@settings(max_examples=120, deadline=None)
@given(STEPS, SETTINGS, LIMITS)
def test_allocated_never_exceeds_reserved_nor_reserved_the_limit(steps, configured, limit):
    allocator = CachingAllocator(configured, limit=limit)
    alive = run(allocator, steps)
    assert allocator.allocated == sum(block.size for block in alive)
    assert allocator.allocated <= allocator.reserved <= allocator.peak_reserved
    assert allocator.peak_allocated <= allocator.peak_reserved
    if limit is not None:
        # torch compares before it rounds a growing segment up to a page, so the last page may pass the limit.
        slack = PAGE if configured.expandable_segments else 0
        assert allocator.peak_reserved <= limit + slack


@settings(max_examples=120, deadline=None)
@given(STEPS, SETTINGS, LIMITS)
def test_blocks_never_overlap(steps, configured, limit):
    alive = run(CachingAllocator(configured, limit=limit), steps)
    spaces: dict[bool, list[Block]] = {}
    for block in alive:
        # Growing and ordinary segments are numbered in spaces of their own.
        spaces.setdefault(block.segment is None, []).append(block)
    for blocks in spaces.values():
        blocks.sort(key=lambda block: block.address)
        for one, other in pairwise(blocks):
            assert one.address + one.size <= other.address


@settings(max_examples=120, deadline=None)
@given(STEPS, SETTINGS, LIMITS)
def test_freeing_everything_and_emptying_the_cache_leaves_nothing(steps, configured, limit):
    allocator = CachingAllocator(configured, limit=limit)
    for block in run(allocator, steps):
        allocator.free(block)
    assert allocator.allocated == 0
    allocator.empty_cache()
    assert allocator.reserved == 0
    assert not allocator.segments


@settings(max_examples=60, deadline=None)
@given(STEPS, SETTINGS, LIMITS)
def test_the_same_requests_lead_to_the_same_arrangement(steps, configured, limit):
    first, second = (CachingAllocator(configured, limit=limit) for _ in range(2))
    run(first, steps)
    run(second, steps)
    assert first.arrangement() == second.arrangement()
    assert (first.reserved, first.retries) == (second.reserved, second.retries)


@settings(max_examples=60, deadline=None)
@given(st.lists(SIZES, min_size=1, max_size=20), st.randoms(use_true_random=False))
def test_merging_restores_every_segment_whatever_the_order(sizes, chance):
    allocator = CachingAllocator()
    blocks = [allocator.malloc(size) for size in sizes]
    chance.shuffle(blocks)
    for block in blocks:
        allocator.free(block)
    assert all(head.is_whole_segment for head in allocator.segments.values())
    assert sum(head.size for head in allocator.segments.values()) == allocator.reserved
