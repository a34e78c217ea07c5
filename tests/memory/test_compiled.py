"""A compiled step must fit while its kernels are chosen and when they lie in the cache."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from traces import MIB, TraceBuilder, a_trained_mlp

from tonnage.cluster.gpus import find_gpu
from tonnage.memory.compiled import already_compiled
from tonnage.memory.exact import exact_estimate
from tonnage.memory.trace import Trace

H200 = find_gpu("h200")


def a_step(held: list[int], *, timing: list[int]) -> Trace:
    """Two alike steps that hold some blocks; kernels are timed before the first one."""
    builder = TraceBuilder()
    builder.mark("build")
    for step in range(2):
        builder.mark(f"step {step}")
        if step == 0:
            builder.phase = "compile"
            builder.free(*[builder.make(size, "temporary") for size in timing])
        builder.phase = "forward"
        builder.free(*[builder.make(size) for size in held])
    return builder.build()


def test_a_step_that_times_no_kernels_is_one_step():
    assert already_compiled(a_trained_mlp()) is None


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.integers(1, 60), min_size=1, max_size=6), st.lists(st.integers(1, 60), min_size=1, max_size=6)
)
def test_with_kernels_in_the_cache_it_is_the_step_that_never_timed_them(held, timing):
    held, timing = [size * MIB for size in held], [size * MIB for size in timing]

    cached = already_compiled(a_step(held, timing=timing))

    assert cached is not None
    assert (
        exact_estimate(cached, H200).smallest_cap
        == exact_estimate(a_step(held, timing=[]), H200).smallest_cap
    )


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.integers(1, 60), min_size=1, max_size=6), st.lists(st.integers(1, 60), min_size=1, max_size=6)
)
def test_what_is_said_to_be_needed_serves_the_first_run_and_the_later_ones(held, timing):
    trace = a_step([size * MIB for size in held], timing=[size * MIB for size in timing])
    cached = already_compiled(trace)

    assert cached is not None
    needed = exact_estimate(trace, H200)
    assert needed.smallest_cap >= exact_estimate(cached, H200).smallest_cap
    assert needed.peak_allocated <= needed.smallest_cap <= needed.peak_reserved
