"""`torch.compile` in a traced step: the compiled program is what is recorded, and no kernel is compiled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.tracing.several_steps import record_all

from tonnage.memory.compiled import already_compiled
from tonnage.memory.trace import Trace

pytestmark = [
    pytest.mark.torch,
    pytest.mark.xdist_group("compiled_steps"),
]  # one child process serves the module

STEPS = Path(__file__).parent / "steps" / "compiled.py"
FUNCTIONS = ("eager", "compiled", "broken_into_graphs", "with_cuda_graphs", "impossible", "own_kernel")


@pytest.fixture(scope="module")
def traces(torch_python: str, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Trace]:
    return record_all(torch_python, STEPS, FUNCTIONS, tmp_path_factory.mktemp("compiled"))


def last_step(trace: Trace) -> list[tuple[str, int]]:
    """Events of the last step."""
    events = list(zip(trace.kinds, trace.arguments, strict=True))
    mark = max(place for place, (kind, _) in enumerate(events) if kind == "m")
    return events[mark + 1 :]


def names(trace: Trace) -> Counter[str]:
    """How often each operation ran in the last step."""
    return Counter(
        trace.operations[trace.calls[argument].operation].name
        for kind, argument in last_step(trace)
        if kind == "c"
    )


def live_peak(trace: Trace) -> int:
    """Most bytes in use at once in the last step."""
    live = peak = 0
    in_last = False
    for kind, argument in zip(trace.kinds, trace.arguments, strict=True):
        if kind == "a":
            live += trace.blocks[argument].size
        elif kind == "f":
            live -= trace.blocks[argument].size
        elif kind == "m":
            in_last, peak = trace.marks[argument] == trace.marks[-1], live
        if in_last:
            peak = max(peak, live)
    return peak


def codes(trace: Trace) -> set[str]:
    return {note.code for note in trace.notes}


def test_a_compiled_step_runs_fused_kernels_and_library_products(traces: Mapping[str, Trace]) -> None:
    seen = names(traces["compiled"])

    assert any(name.startswith("inductor.") for name in seen)
    assert any(name.startswith(("aten.mm.out", "aten.addmm.out")) for name in seen)
    assert "aten.gelu.default" not in seen
    assert not codes(traces["compiled"])


def test_a_compiled_step_needs_less_than_the_eager_one(traces: Mapping[str, Trace]) -> None:
    assert live_peak(traces["compiled"]) < 0.8 * live_peak(traces["eager"])


def test_the_optimizer_is_recorded_as_eager_where_only_the_model_is_compiled(
    traces: Mapping[str, Trace],
) -> None:
    assert any(name.startswith("aten._foreach_") for name in names(traces["compiled"]))


def test_fused_kernels_say_the_bytes_they_move(traces: Mapping[str, Trace]) -> None:
    kernels = [each for each in traces["compiled"].operations if each.name.startswith("inductor.")]

    assert kernels
    assert all(isinstance(each.scalars["bytes"], int) and each.scalars["bytes"] > 0 for each in kernels)
    assert all(each.inputs and each.outputs for each in kernels if each.name == "inductor.pointwise")


def test_kernels_are_timed_in_the_first_step_only(traces: Mapping[str, Trace]) -> None:
    """Choosing between configurations takes a buffer as large as the second-level cache, for a moment."""
    trace = traces["compiled"]
    cache = 60 << 20
    flushes = {index for index, block in enumerate(trace.blocks) if block.size == cache}
    later = {argument for kind, argument in last_step(trace) if kind == "a"}

    assert flushes
    assert not flushes & later


def test_with_kernels_in_the_cache_none_are_timed(traces: Mapping[str, Trace]) -> None:
    trace = traces["compiled"]
    cached = already_compiled(trace)

    assert cached is not None
    assert Counter(cached.kinds)["a"] == Counter(cached.kinds)["f"] + _kept(trace)
    made = {argument for kind, argument in zip(cached.kinds, cached.arguments, strict=True) if kind == "a"}
    assert not any(trace.blocks[block].size == 60 << 20 for block in made)
    assert last_step(cached) == last_step(trace)


def _kept(trace: Trace) -> int:
    """Blocks still there at the end."""
    return Counter(trace.kinds)["a"] - Counter(trace.kinds)["f"]


def test_a_number_read_between_two_compiled_graphs_is_noted(traces: Mapping[str, Trace]) -> None:
    """The first graph holds a checkpointed block, which is recomputed in its backward graph."""
    trace = traces["broken_into_graphs"]

    assert "assumed-value" in codes(trace)
    assert any(name.startswith("inductor.") for name in names(trace))


def test_cuda_graphs_keep_their_memory_to_themselves(traces: Mapping[str, Trace]) -> None:
    trace = traces["with_cuda_graphs"]
    apart = {block.stream for block in trace.blocks} - {0}

    assert "compile-cuda-graphs" in codes(trace)
    assert apart
    assert {block.stream for block in traces["compiled"].blocks} == {0}


def test_a_graph_that_cannot_be_compiled_is_recorded_as_it_is_and_said(traces: Mapping[str, Trace]) -> None:
    trace = traces["impossible"]

    assert "compile-eager" in codes(trace)
    assert "no such lowering" in " ".join(note.text for note in trace.notes)
    assert live_peak(trace) >= live_peak(traces["compiled"])


def test_a_kernel_launched_by_the_step_itself_is_noted_and_not_compiled(traces: Mapping[str, Trace]) -> None:
    trace = traces["own_kernel"]

    assert names(trace)["triton.double"] == 1
    flushes = {index for index, block in enumerate(trace.blocks) if block.size == 256 << 20}
    assert len(flushes) == 1
    assert not flushes & {argument for kind, argument in last_step(trace) if kind == "a"}
