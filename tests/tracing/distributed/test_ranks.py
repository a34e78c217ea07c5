"""One rank of eight: what DDP, FSDP and tensor parallelism allocate and send, without the other seven."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.tracing.several_steps import record_all

from tonnage.cluster.gpus import find_gpu
from tonnage.memory.device import device_of
from tonnage.memory.program import program_of
from tonnage.memory.repeating import repetition_of
from tonnage.memory.trace import Trace

pytestmark = [pytest.mark.torch, pytest.mark.xdist_group("ranks")]  # one child process serves the module

STEPS = Path(__file__).parent / "steps" / "ranks.py"
FUNCTIONS = (
    "ddp_copies", "ddp_views", "ddp_unused", "ddp_compressed", "zero", "fsdp2", "hybrid", "fsdp1",
    "tensor_parallel", "talking", "prefetching",
)  # fmt: skip
MIB = 1 << 20
LAYER = 4 * MIB
"""Bytes of one of the four weights, in fp32."""
EVERYONE = tuple(range(8))


@pytest.fixture(scope="module")
def traces(torch_python: str, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Trace]:
    return record_all(torch_python, STEPS, FUNCTIONS, tmp_path_factory.mktemp("ranks"), world_size=8, rank=3)


def last_step(trace: Trace) -> list[tuple[str, int]]:
    events = list(zip(trace.kinds, trace.arguments, strict=True))
    mark = max(place for place, (kind, _) in enumerate(events) if kind == "m")
    return events[mark + 1 :]


def collectives(trace: Trace) -> Counter[tuple[str, int]]:
    """Collectives of the last step, with the bytes of what they read."""
    found: Counter[tuple[str, int]] = Counter()
    for kind, argument in last_step(trace):
        if kind == "c":
            operation = trace.operations[trace.calls[argument].operation]
            if operation.name.startswith(("c10d.", "_c10d_functional.")):
                numbers = [_numel(tensor.shape) * _width(tensor.dtype) for tensor in operation.inputs]
                found[operation.name.split(".")[1], max(numbers, default=0)] += 1
    return found


def _numel(shape: tuple[int, ...]) -> int:
    number = 1
    for size in shape:
        number *= size
    return number


def _width(dtype: str) -> int:
    return 2 if dtype in ("bfloat16", "float16") else 8 if dtype == "int64" else 4


def steady_bytes(trace: Trace, *categories: str) -> int:
    """Bytes of some categories in use when the last step begins."""
    wanted = {trace.categories.index(each) for each in categories}
    live: set[int] = set()
    for kind, argument in zip(trace.kinds, trace.arguments, strict=True):
        if kind == "m" and trace.marks[argument] == trace.marks[-1]:
            break
        if kind == "a":
            live.add(argument)
        elif kind == "f":
            live.discard(argument)
    return sum(trace.blocks[each].size for each in live if trace.blocks[each].category in wanted)


def test_the_groups_that_communicate_are_named(traces: Mapping[str, Trace]) -> None:
    assert traces["ddp_copies"].groups == (EVERYONE,)
    assert set(traces["hybrid"].groups) == {(0, 1, 2, 3), (3, 7)}
    assert traces["prefetching"].groups == ()
    assert (traces["fsdp2"].world_size, traces["fsdp2"].rank) == (8, 3)


def test_ddp_sends_each_gradient_once_in_buckets(traces: Mapping[str, Trace]) -> None:
    sent = collectives(traces["ddp_copies"])

    assert sum(size * count for (name, size), count in sent.items() if name == "allreduce_") == 4 * LAYER
    assert sum(count for (name, _), count in sent.items() if name == "allreduce_") > 1


def test_ddp_keeps_a_second_copy_of_the_gradients_unless_they_are_views_of_it(
    traces: Mapping[str, Trace],
) -> None:
    """Between steps gradients are gone, buckets stay."""
    copies = steady_bytes(traces["ddp_copies"], "gradient", "other", "temporary", "activation")
    views = steady_bytes(traces["ddp_views"], "gradient", "other", "temporary", "activation")

    assert copies >= 4 * LAYER
    assert views >= 4 * LAYER
    copied = [name for name in _names(traces["ddp_copies"]) if name.startswith("aten.mul.out")]
    viewed = [name for name in _names(traces["ddp_views"]) if name.startswith("aten.mul.out")]
    assert len(copied) >= len(viewed)


@pytest.mark.parametrize("step", ["ddp_copies", "ddp_views"])
def test_buckets_are_gradients_those_made_in_a_forward_pass_too(
    traces: Mapping[str, Trace], step: str
) -> None:
    trace = traces[step]
    activation = trace.categories.index("activation")
    left = {argument for kind, argument in last_step(trace) if kind == "a"}
    left -= {argument for kind, argument in last_step(trace) if kind == "f"}

    assert steady_bytes(trace, "gradient") >= 4 * LAYER
    assert [trace.blocks[each].size for each in left if trace.blocks[each].category == activation] == []


def _names(trace: Trace) -> list[str]:
    return [
        trace.operations[trace.calls[argument].operation].name
        for kind, argument in last_step(trace)
        if kind == "c"
    ]


def test_a_compressing_hook_sends_half(traces: Mapping[str, Trace]) -> None:
    sent = collectives(traces["ddp_compressed"])

    assert sum(size * count for (name, size), count in sent.items() if name == "allreduce_") == 2 * LAYER


def test_ddp_looks_for_unused_parameters(traces: Mapping[str, Trace]) -> None:
    assert (
        sum(count for (name, _), count in collectives(traces["ddp_unused"]).items() if name == "allreduce_")
        >= 2
    )


def test_a_sharded_optimizer_keeps_its_share_of_the_state(traces: Mapping[str, Trace]) -> None:
    whole = steady_bytes(traces["ddp_copies"], "optimizer")

    assert whole >= 8 * LAYER
    assert steady_bytes(traces["zero"], "optimizer") <= whole / 2


def test_fsdp_keeps_an_eighth_of_parameters_and_state(traces: Mapping[str, Trace]) -> None:
    trace = traces["fsdp2"]

    assert steady_bytes(trace, "parameter") == pytest.approx(4 * LAYER / 8, rel=0.05)
    assert steady_bytes(trace, "optimizer") == pytest.approx(8 * LAYER / 8, rel=0.05)


def test_fsdp_gathers_in_the_compute_precision_and_reduces_in_its_own(traces: Mapping[str, Trace]) -> None:
    sent = collectives(traces["fsdp2"])

    gathered = sum(count for (name, _), count in sent.items() if name == "_allgather_base_")
    reduced = {size for (name, size) in sent if name == "_reduce_scatter_base_"}
    assert gathered >= 4
    assert reduced == {LAYER}
    assert max(size for (name, size) in sent if name == "_allgather_base_") == LAYER // 2


def test_fsdp_gathers_on_streams_with_pools_of_their_own(traces: Mapping[str, Trace]) -> None:
    assert len({block.stream for block in traces["fsdp2"].blocks}) > 1
    assert len({block.stream for block in traces["fsdp1"].blocks}) > 1


def test_gathered_parameters_are_freed_when_their_storage_is_emptied(traces: Mapping[str, Trace]) -> None:
    trace = traces["fsdp2"]
    live = peak = 0
    whole = LAYER // 2
    gathered = {index for index, block in enumerate(trace.blocks) if block.size == whole}
    for kind, argument in last_step(trace):
        if argument in gathered and kind in "af":
            live += 1 if kind == "a" else -1
            peak = max(peak, live)

    assert gathered
    assert 0 < peak < 8


def test_fsdp1_runs_too(traces: Mapping[str, Trace]) -> None:
    assert any(name.startswith("c10d._allgather_base_") for name in _names(traces["fsdp1"]))


def test_tensor_parallel_weights_are_sharded_and_activations_reduced(traces: Mapping[str, Trace]) -> None:
    trace = traces["tensor_parallel"]

    assert steady_bytes(trace, "parameter") == pytest.approx(4 * LAYER / 8, rel=0.05)
    assert any(name == "all_reduce" for name, _ in collectives(trace))


def test_objects_and_numbers_are_exchanged_as_if_all_ranks_said_the_same(traces: Mapping[str, Trace]) -> None:
    assert set(traces["talking"].groups) == {(0, 1, 2, 3), EVERYONE}


def test_a_batch_another_stream_still_reads_is_not_reused_at_once(traces: Mapping[str, Trace]) -> None:
    """The prefetched batch is allocated while the one before, though dropped, is still in use."""
    trace = traces["prefetching"]
    batch = 4096 * 1024 * 4
    batches = {index for index, block in enumerate(trace.blocks) if block.size == batch and block.stream == 1}
    live = peak = 0
    for kind, argument in zip(trace.kinds, trace.arguments, strict=True):
        if argument in batches and kind in "af":
            live += 1 if kind == "a" else -1
            peak = max(peak, live)

    assert peak == 2


@pytest.mark.parametrize("step", ["ddp_copies", "ddp_views"])
def test_ddp_makes_its_buckets_anew_once_and_not_in_every_step(
    traces: Mapping[str, Trace], step: str
) -> None:
    repetition = repetition_of(program_of(traces[step], device_of(find_gpu("h200"))))

    assert repetition is not None
    assert repetition.grows_by == 0
