"""RAM, shared memory, disk and cores of a pod: what each depends on, and the traps that kill training pods."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tonnage.memory.pod import CheckpointWish, LoaderWish, Need, NeedPart, PodNeeds, PodWish, pod_needs
from tonnage.memory.pod.cpu import cpu_seconds, throttled
from tonnage.memory.pod.rounding import pinned_block

MIB, GIB = 1024**2, 1024**3
WEIGHTS = 16 * GIB
RUN = PodWish(
    ranks=8,
    gpus=8,
    parameter_bytes=WEIGHTS,
    largest_tensor_bytes=GIB,
    loader=LoaderWish(workers=4, prefetch=2, batch_bytes=32 * MIB, sample_bytes=512 * 1024),
    checkpoint=CheckpointWish(saving="streamed", bytes=3 * WEIGHTS, keep=3),
)


def part(need: Need | PodNeeds, name: str) -> int:
    """Bytes of a part of the hungriest phase it is in."""
    if isinstance(need, Need):
        return sum(line.amount for line in need.parts if line.name == name)
    return max(sum(line.amount for line in parts if line.name == name) for _, parts in need.phases)


def every_part(needs: PodNeeds) -> list[NeedPart]:
    lists = [*(parts for _, parts in needs.phases), needs.shm.parts, needs.disk.parts, needs.cpu.parts]
    return [line for parts in lists for line in parts]


loaders = st.builds(
    LoaderWish,
    workers=st.integers(0, 16),
    prefetch=st.integers(1, 8),
    pins=st.booleans(),
    start=st.sampled_from(["fork", "spawn", "forkserver"]),
    batch_bytes=st.integers(0, GIB),
    sample_bytes=st.integers(0, 64 * MIB),
    dataset_bytes=st.integers(0, GIB),
    malloc_is_told=st.booleans(),
)
checkpoints = st.builds(
    CheckpointWish,
    saving=st.sampled_from(["none", "streamed", "gathered", "sharded", "background"]),
    bytes=st.integers(0, 2**42),
    keep=st.integers(1, 10),
    is_on_pod_disk=st.booleans(),
    is_in_memory=st.booleans(),
    passes_page_cache=st.booleans(),
)
wishes = st.builds(
    PodWish,
    ranks=st.integers(1, 16),
    pods=st.integers(1, 64),
    gpus=st.integers(0, 16),
    parameter_bytes=st.integers(0, 2**40),
    largest_tensor_bytes=st.integers(0, 2**34),
    loading=st.sampled_from(["none", "mapped", "built", "read", "built and read"]),
    loads_on_every_rank=st.booleans(),
    host_state_bytes=st.integers(0, 2**40),
    offload_bytes=st.integers(0, 2**40),
    loader=loaders,
    checkpoint=checkpoints,
    compiles=st.booleans(),
    cores_per_node=st.one_of(st.none(), st.integers(1, 256)),
)


@given(wishes)
def test_every_need_covers_its_parts_and_every_part_says_where_it_comes_from(wish: PodWish) -> None:
    needs = pod_needs(wish)

    assert needs.ram.amount >= needs.ram.expected
    assert needs.ram.amount >= max(sum(line.amount for line in parts) for _, parts in needs.phases)
    assert needs.shm.amount >= max(needs.shm.expected, 64 * MIB)
    assert needs.disk.amount >= needs.disk.expected
    assert needs.cpu.limit >= needs.cpu.request > 0
    assert all(line.amount > 0 and line.formula and line.origin for line in every_part(needs))


@given(wishes, st.sampled_from(["workers", "prefetch", "batch_bytes"]), st.integers(1, 8))
def test_more_workers_prefetch_or_batch_never_need_less(wish: PodWish, name: str, more: int) -> None:
    larger = replace(
        wish.loader, **{name: getattr(wish.loader, name) + more * (MIB if "bytes" in name else 1)}
    )
    if name == "workers" and wish.loader.workers == 0:
        return  # the first worker takes the batches out of the rank itself
    before, after = pod_needs(wish), pod_needs(replace(wish, loader=larger))

    assert after.ram.amount >= before.ram.amount
    assert after.shm.amount >= before.shm.amount


@given(wishes)
def test_more_ranks_never_need_less(wish: PodWish) -> None:
    before, after = pod_needs(wish), pod_needs(replace(wish, ranks=wish.ranks + 1))

    assert after.cpu.request >= before.cpu.request
    assert after.shm.amount >= before.shm.amount


# -- shared memory


def test_shared_memory_is_workers_times_prefetch_and_two_batches_per_rank() -> None:
    needs = pod_needs(RUN)

    assert part(needs.shm, "batches") == 8 * (4 * 2 + 2) * 32 * MIB
    assert part(needs.shm, "collectives") == 8 * 64 * MIB


def test_shared_memory_counts_as_memory() -> None:
    needs = pod_needs(RUN)

    assert part(needs, "batches in shared memory") == part(needs.shm, "batches")


def test_a_loader_without_workers_needs_no_more_than_the_runtimes_64_mib() -> None:
    quiet = replace(RUN, ranks=1, loader=LoaderWish(workers=0, batch_bytes=GIB))

    assert pod_needs(quiet).shm.amount == 64 * MIB


# -- pinned memory


@given(st.integers(1, 2**40))
def test_pinned_blocks_are_powers_of_two_and_less_than_twice_too_large(size: int) -> None:
    block = pinned_block(size)

    assert block & (block - 1) == 0
    assert size <= block < 2 * size


def test_pinned_batches_are_rounded_up_and_as_many_as_can_be_alive() -> None:
    odd = replace(RUN, loader=replace(RUN.loader, batch_bytes=33 * MIB))

    assert part(pod_needs(odd), "pinned batches") == 8 * 10 * 64 * MIB
    assert part(pod_needs(replace(RUN, gpus=0)), "pinned batches") == 0


def test_offloaded_states_are_pinned_in_one_block_per_rank() -> None:
    offloaded = replace(RUN, offload_bytes=8 * 17 * GIB)

    assert part(pod_needs(offloaded), "offload") == 8 * 32 * GIB


# -- loading


@pytest.mark.parametrize(
    ("loading", "every_rank", "gib"),
    [
        ("built", True, 128),
        ("read", True, 128),
        ("built and read", True, 256),
        ("built", False, 16),
        ("mapped", True, 8),
    ],
)
def test_every_rank_that_loads_by_itself_holds_the_weights(loading: str, every_rank: bool, gib: int) -> None:
    wish = replace(RUN, loading=loading, loads_on_every_rank=every_rank)  # type: ignore[arg-type]

    assert part(pod_needs(wish), "loading weights") == gib * GIB


def test_loading_can_be_the_hungriest_phase_and_is_then_named() -> None:
    assert pod_needs(RUN).ram.phase == "load"
    assert pod_needs(replace(RUN, loading="mapped")).ram.phase == "checkpoint"


# -- saving


def test_gathering_on_rank_0_holds_the_whole_checkpoint_and_streaming_one_tensor() -> None:
    streamed = part(pod_needs(RUN), "saving")
    gathered = part(pod_needs(replace(RUN, checkpoint=replace(RUN.checkpoint, saving="gathered"))), "saving")

    assert streamed < 2 * GIB
    assert gathered > 3 * WEIGHTS


def test_sharded_and_background_saves_hold_this_pods_part() -> None:
    for saving, copies in (("sharded", 1.3), ("background", 1.03)):
        wish = replace(RUN, pods=4, checkpoint=replace(RUN.checkpoint, saving=saving))  # type: ignore[arg-type]

        assert part(pod_needs(wish), "saving") == pytest.approx(copies * 3 * WEIGHTS / 4, rel=0.01)


def test_pages_of_a_checkpoint_on_a_mounted_disk_cannot_be_reclaimed_until_written() -> None:
    to_bucket = replace(RUN, checkpoint=replace(RUN.checkpoint, passes_page_cache=False))

    assert part(pod_needs(RUN), "pages being written") > 0
    assert part(pod_needs(to_bucket), "pages being written") == 0


def test_checkpoints_on_a_memory_volume_are_memory() -> None:
    in_memory = replace(RUN, checkpoint=replace(RUN.checkpoint, is_in_memory=True))

    assert part(pod_needs(in_memory), "checkpoints in memory") == 4 * 3 * WEIGHTS


# -- the loader's workers


def test_python_objects_of_a_dataset_are_copied_into_every_worker() -> None:
    wish = replace(RUN, loader=replace(RUN.loader, dataset_bytes=GIB))

    assert part(pod_needs(wish), "dataset copies") == 32 * GIB


def test_freed_samples_stay_unless_malloc_is_told_and_a_large_loss_is_warned_of() -> None:
    large = replace(RUN, loader=replace(RUN.loader, sample_bytes=4 * MIB))
    told = replace(large, loader=replace(large.loader, malloc_is_told=True))

    assert part(pod_needs(large), "samples in workers") == 32 * (32 + 140 * 4) * MIB
    assert part(pod_needs(told), "samples in workers") == 32 * 32 * MIB
    assert "MALLOC_MMAP_THRESHOLD_" in pod_needs(large).warnings[0]
    assert pod_needs(told).warnings == ()


@pytest.mark.parametrize("sample", [64 * 1024, 40 * MIB])
def test_very_small_and_very_large_samples_are_given_back(sample: int) -> None:
    wish = replace(RUN, loader=replace(RUN.loader, sample_bytes=sample))

    assert part(pod_needs(wish), "samples in workers") == 32 * 32 * MIB


# -- disk


def test_checkpoints_count_on_the_pods_disk_only_and_one_more_than_are_kept() -> None:
    on_disk = replace(RUN, checkpoint=replace(RUN.checkpoint, is_on_pod_disk=True))

    assert part(pod_needs(RUN).disk, "checkpoints") == 0
    assert part(pod_needs(on_disk).disk, "checkpoints") == (3 + 1) * 3 * WEIGHTS


def test_a_compiled_run_keeps_its_caches_and_its_workers() -> None:
    needs = pod_needs(replace(RUN, compiles=True, compile_workers=4))

    assert part(needs.disk, "compile caches") == 3 * GIB
    assert part(needs, "compiler") == 8 * (150 + 350 + 4 * 100) * MIB
    assert needs.cpu.limit == needs.cpu.request + 8 * 4 * 1000


def test_compile_workers_are_one_per_core_up_to_32_for_every_rank() -> None:
    few = pod_needs(replace(RUN, compiles=True, cores_per_node=16))
    many = pod_needs(replace(RUN, compiles=True, cores_per_node=192))

    assert part(few, "compiler") == 8 * (150 + 350 + 16 * 100) * MIB
    assert part(many, "compiler") == 8 * (150 + 350 + 32 * 100) * MIB


# -- cores


def test_cores_are_those_of_ranks_and_workers() -> None:
    assert pod_needs(RUN).cpu.request == 8 * 1500 + 32 * 1000
    assert pod_needs(RUN).cpu.limit == pod_needs(RUN).cpu.request


def test_known_work_per_sample_sizes_the_workers() -> None:
    known = replace(RUN, cpu_seconds_per_sample=0.01, samples_per_second=100.0)

    assert pod_needs(known).cpu.request == 8 * 1500 + 8 * 1000


def test_a_limit_below_the_work_makes_the_gpu_wait() -> None:
    work = cpu_seconds(RUN, 1.0)

    assert work == 44.0
    assert throttled(1.0, work, 44_000).gpu_idle_share == 0
    assert throttled(1.0, work, 22_000).step_seconds == 2.0
    assert throttled(1.0, work, 22_000).gpu_idle_share == 0.5
    assert throttled(1.0, work, 0).gpu_idle_share == 1.0


@given(st.floats(0.001, 100), st.floats(0, 1000), st.integers(1, 10**6))
def test_a_limit_never_makes_a_step_faster_and_more_cores_never_slower(
    step: float, work: float, limit: int
) -> None:
    slow, fast = throttled(step, work, limit), throttled(step, work, limit * 2)

    assert slow.step_seconds >= fast.step_seconds >= step
    assert 0 <= fast.gpu_idle_share <= slow.gpu_idle_share < 1
