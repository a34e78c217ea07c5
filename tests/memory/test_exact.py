"""The exact estimate: figures that agree with each other, and parts that explain them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from traces import TraceBuilder, a_tensor, a_trained_mlp, an_operation

from tonnage.cluster.gpus import find_gpu
from tonnage.memory.allocator import SettingsError
from tonnage.memory.estimate import Interval
from tonnage.memory.exact import exact_estimate
from tonnage.memory.guard import (
    COMPILED,
    CONVOLUTION,
    DATA_DEPENDENT,
    DISTRIBUTED,
    PLAIN,
    bands_of,
    guard_for,
)
from tonnage.memory.outside import nccl_parts, outside_parts
from tonnage.memory.trace import Note

MIB = 2**20
H200 = find_gpu("h200")


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 5), st.sampled_from([128, 1024]), st.sampled_from([512, 4096]))
def test_parts_sum_to_the_peak_and_figures_are_in_order(layers, width, batch):
    estimate = exact_estimate(a_trained_mlp(layers=layers, width=width, batch=batch), H200)
    assert sum(part.bytes for part in estimate.parts) == estimate.peak_allocated
    assert estimate.peak_allocated <= estimate.smallest_cap <= estimate.peak_reserved
    assert estimate.expected == estimate.smallest_cap + estimate.outside_allocator
    assert estimate.required == estimate.expected + estimate.guard.bytes
    assert sum(part.bytes for part in estimate.outside) == estimate.outside_allocator
    for phase in estimate.phases:
        assert sum(part.bytes for part in phase.parts) == phase.peak_allocated
    assert max(phase.peak_allocated for phase in estimate.phases) == estimate.peak_allocated


def test_the_peak_is_named_by_phase_module_and_operation():
    estimate = exact_estimate(a_trained_mlp(layers=4), H200)
    assert estimate.peak is not None
    assert (estimate.peak.phase, estimate.peak.module) == ("backward", "layers.3")
    assert estimate.peak.operation == "aten.mm.default"
    assert [phase.name for phase in estimate.phases] == ["build", "forward", "backward", "optimizer"]


def test_the_largest_tensors_are_named_with_shape_and_maker():
    estimate = exact_estimate(a_trained_mlp(layers=12), H200)
    assert len(estimate.largest) == 10
    sizes = [tensor.bytes for tensor in estimate.largest]
    assert sizes == sorted(sizes, reverse=True)
    activation = next(tensor for tensor in estimate.largest if tensor.category == "activations")
    assert (activation.shape, activation.dtype, activation.module) == ((4096, 1024), "float32", "layers.0")


def test_samples_of_the_last_step_reach_its_peak_and_are_few():
    estimate = exact_estimate(a_trained_mlp(layers=400, width=64, batch=64), H200)
    assert len(estimate.samples) == 1500
    assert max(sample.allocated for sample in estimate.samples) == estimate.peak_allocated
    assert {sample.phase for sample in estimate.samples} == {"forward", "backward", "optimizer"}


def test_a_trace_of_the_build_alone_is_still_an_estimate():
    builder = TraceBuilder()
    builder.mark("build")
    builder.make(10 * MIB, "parameter")
    estimate = exact_estimate(builder.build(), H200)
    assert estimate.peak_allocated == estimate.smallest_cap == 10 * MIB
    assert [phase.name for phase in estimate.phases] == ["build"]


def test_growing_segments_change_the_answer():
    plain = exact_estimate(a_trained_mlp(), H200)
    growing = exact_estimate(a_trained_mlp(PYTORCH_CUDA_ALLOC_CONF="expandable_segments:True"), H200)
    assert growing.peak_allocated == plain.peak_allocated
    assert growing.peak_reserved != plain.peak_reserved


def test_settings_torch_refuses_are_refused():
    with pytest.raises(SettingsError, match="not a setting"):
        exact_estimate(a_trained_mlp(PYTORCH_CUDA_ALLOC_CONF="speed:11"), H200)


def test_another_backend_is_said_not_to_be_modelled():
    estimate = exact_estimate(a_trained_mlp(PYTORCH_ALLOC_CONF="backend:cudaMallocAsync"), H200)
    assert any("cudaMallocAsync is not modelled" in note for note in estimate.notes)


def test_a_run_that_grows_is_said_to_grow():
    builder = TraceBuilder()
    builder.mark("step 0")
    builder.make(50 * MIB, "other")
    assert any("leaves 50 MiB behind" in note for note in exact_estimate(builder.build(), H200).notes)


def test_step_seconds_are_carried_through():
    seconds = Interval(1.0, 2.0, 3.0)
    assert exact_estimate(a_trained_mlp(), H200, step_seconds=seconds).step_seconds == seconds


def test_outside_adds_up_to_what_an_h200_showed():
    products = outside_parts(a_trained_mlp(), H200)
    assert sum(part.bytes for part in products) == 750 * MIB
    builder = TraceBuilder()
    image, weight = a_tensor(8, 64, 56, 56), a_tensor(64, 64, 3, 3)
    builder.call(an_operation("aten.convolution.default", [image, weight], [image]))
    for builder.thread in (0, 1):
        builder.call(an_operation("aten.mm.default", [a_tensor(2, 2), a_tensor(2, 2)], [a_tensor(2, 2)]))
    assert sum(part.bytes for part in outside_parts(builder.build(), H200)) == 770 * MIB
    builder.stream = 3
    builder.call(an_operation("aten.mm.default", [a_tensor(2, 2), a_tensor(2, 2)], [a_tensor(2, 2)]))
    assert sum(part.bytes for part in outside_parts(builder.build(), H200)) == 840 * MIB


def test_a_side_stream_costs_the_same_whatever_runs_there():
    builder = TraceBuilder()
    builder.stream = 3
    builder.call(an_operation("aten.mul.Tensor", [a_tensor(2, 2)], [a_tensor(2, 2)]))
    assert outside_parts(builder.build(), H200)[-1].bytes == 70 * MIB


def test_a_step_without_products_loads_no_cublas():
    builder = TraceBuilder()
    builder.make(MIB)
    assert [part.name for part in outside_parts(builder.build(), H200)] == ["CUDA context", "kernels"]


def test_every_gpu_of_the_table_has_a_context():
    small = outside_parts(a_trained_mlp(), find_gpu("t4"))
    assert small[0].name == "CUDA context"
    assert 0 < small[0].bytes < 800 * MIB


def test_nccl_counts_per_group():
    assert nccl_parts(()) == ()
    assert sum(part.bytes for part in nccl_parts([(0,)])) == 556 * MIB
    assert sum(part.bytes for part in nccl_parts([(0,), (0,)])) == (556 + 390) * MIB
    assert nccl_parts([(0, 1), tuple(range(8))])[0].formula == "first communicator, 8 ranks"


def test_one_convolution_makes_no_convolutional_network():
    builder = TraceBuilder()
    image, weight = a_tensor(8, 3, 224, 224), a_tensor(768, 3, 16, 16)
    builder.call(an_operation("aten.convolution.default", [image, weight], [a_tensor(8, 768, 14, 14)]))
    assert bands_of(builder.build()) == (PLAIN,)


def test_a_compiled_step_is_known_by_its_kernels():
    builder = TraceBuilder()
    builder.make(MIB, name="triton.fused_add_0")
    assert COMPILED in bands_of(builder.build())


def test_the_guard_is_the_widest_of_the_step_s_families():
    builder = TraceBuilder()
    for channels in (16, 32, 64, 128, 256):
        image, weight = a_tensor(8, channels, 56, 56), a_tensor(channels, channels, 3, 3)
        builder.call(an_operation("aten.convolution.default", [image, weight], [image]))
    builder.notes.append(Note("bounded", "x"))
    builder.groups = ((0, 1),)
    assert bands_of(builder.build()) == (PLAIN, CONVOLUTION, DATA_DEPENDENT, DISTRIBUTED)
    plain = guard_for(a_trained_mlp(), 100 * MIB)
    assert plain.bytes == PLAIN.least
    assert PLAIN.reason in plain.reason
    large = guard_for(a_trained_mlp(), 80 * 2**30)
    assert large.bytes == pytest.approx(80 * 2**30 * PLAIN.share, abs=MIB)
