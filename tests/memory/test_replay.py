"""A traced step replayed: temporaries in their places, steps repeated, the smallest cap found."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from traces import TraceBuilder, a_tensor, a_trained_mlp, an_operation

from tonnage.cluster.gpus import find_gpu
from tonnage.memory.allocator import OutOfMemoryError
from tonnage.memory.cap import smallest_cap
from tonnage.memory.device import device_of
from tonnage.memory.program import program_of
from tonnage.memory.repeating import repetition_of
from tonnage.memory.replay import replay, trains, watch

MIB = 2**20
H200 = device_of(find_gpu("h200"))
GRAIN = 2 * MIB


def program(trace):
    return program_of(trace, H200)


def test_temporaries_lie_between_the_call_s_beginning_and_end():
    builder = TraceBuilder()
    rows = a_tensor(16384, 3072, dtype="bfloat16")
    total = a_tensor(1, 3072, dtype="bfloat16")
    builder.call(an_operation("aten.sum.dim_IntList", [rows], [total], dim=[0]))
    made = program(builder.build())
    output, partial, counters, *freed = made.stretches[0].events
    assert made.slots.sizes[output] == 6144
    assert made.slots.sizes[partial] == 132 * MIB
    assert freed == [~partial, ~counters]
    assert replay(made).peak_allocated == 132 * MIB + 6144 + 512


def test_a_temporary_may_be_returned_before_the_next_output_is_made():
    builder = TraceBuilder()
    image, weight = a_tensor(8, 64, 56, 56), a_tensor(64, 64, 3, 3)
    builder.call(
        an_operation("aten.convolution_backward.default", [image, image, weight], [image, weight], groups=1)
    )
    events = program(builder.build()).stretches[0].events
    first, workspace, returned, second, other, returned_too = events
    assert (first, second) == (0, 1)
    assert returned == ~workspace
    assert returned_too == ~other


def test_blocks_of_no_bytes_take_nothing():
    builder = TraceBuilder()
    empty = builder.make(0)
    builder.free(empty)
    assert program(builder.build()).stretches[0].events == []


def test_an_explicit_empty_cache_is_honoured_and_none_is_invented():
    builder = TraceBuilder()
    builder.mark("build")
    builder.free(builder.make(100 * MIB))
    builder.empty_cache()
    builder.make(60 * MIB, "parameter")
    assert replay(program(builder.build())).peak_reserved == 100 * MIB
    builder = TraceBuilder()
    builder.free(builder.make(60 * MIB))
    builder.mark("step 0")
    builder.make(100 * MIB, "optimizer")
    assert replay(program(builder.build())).peak_reserved == 160 * MIB


def test_the_last_step_repeats_with_what_outlives_it_handed_on():
    trace = a_trained_mlp(layers=3, steps=2)
    made = program(trace)
    repetition = repetition_of(made)
    assert repetition is not None
    # Three gradients and the loss of a step are freed in the next one.
    assert len(repetition.moves) == 4
    assert repetition.grows_by == 0
    traced = replay(program(a_trained_mlp(layers=3, steps=6)), steps=6)
    repeated = replay(made, steps=6)
    assert (repeated.peak_allocated, repeated.peak_reserved) == (traced.peak_allocated, traced.peak_reserved)


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 6), st.sampled_from([96, 512, 1000]), st.sampled_from([64, 777, 4096]))
def test_repeating_is_the_same_as_tracing_more_steps(layers, width, batch):
    traced = program(a_trained_mlp(layers=layers, width=width, batch=batch, steps=5))
    repeated = program(a_trained_mlp(layers=layers, width=width, batch=batch, steps=2))
    free, again = replay(traced), replay(repeated)
    assert (free.peak_allocated, free.peak_reserved) == (again.peak_allocated, again.peak_reserved)
    limit = (free.peak_allocated + free.peak_reserved) // 2
    one, other = trains(traced, limit), trains(repeated, limit)
    assert (one is None) == (other is None)


def test_state_that_appears_in_the_last_step_is_not_made_again():
    builder = TraceBuilder()
    builder.mark("build")
    builder.mark("step 0")
    builder.make(50 * MIB, "optimizer")
    assert replay(program(builder.build()), steps=5).peak_allocated == 50 * MIB


def test_what_nothing_frees_grows_with_every_step():
    builder = TraceBuilder()
    builder.mark("step 0")
    builder.make(50 * MIB, "other")
    made = program(builder.build())
    repetition = repetition_of(made)
    assert repetition is not None
    assert repetition.grows_by == 50 * MIB
    assert replay(made, steps=5).peak_allocated == 250 * MIB


def buckets_made_anew(*sizes: int, leak: int = 0):
    """DDP: two buckets of the build are cut anew, once, when the first step has shown the order of the gradients."""
    builder = TraceBuilder()
    builder.mark("build")
    first = [builder.make(size * MIB, "temporary") for size in (20, 80)]
    builder.mark("step 0")
    builder.mark("step 1")
    builder.free(*first)
    for size in sizes:
        builder.make(size * MIB)
    if leak:
        builder.make(leak * MIB, name="aten.clone.default")
    return program(builder.build())


@pytest.mark.parametrize("sizes", [(60, 40), (100,), (24, 26, 50)])
def test_what_takes_the_place_of_what_the_build_made_is_made_once(sizes):
    made = buckets_made_anew(*sizes)
    repetition = repetition_of(made)
    assert repetition is not None
    assert repetition.grows_by == 0
    assert replay(made, steps=5).peak_allocated == 100 * MIB


def test_a_leak_beside_it_still_grows():
    repetition = repetition_of(buckets_made_anew(60, 40, leak=7))
    assert repetition is not None
    assert repetition.grows_by == 7 * MIB


def test_more_than_the_build_had_made_is_growth():
    repetition = repetition_of(buckets_made_anew(150))
    assert repetition is not None
    assert repetition.grows_by == 150 * MIB


def test_a_step_that_changes_nothing_any_more_is_not_replayed_again():
    assert replay(program(a_trained_mlp()), steps=1000).steps < 10


def test_watching_sees_what_replaying_reaches():
    made = program(a_trained_mlp())
    moments = list(watch(made))
    free = replay(made)
    assert max(moment.allocated for moment in moments) == free.peak_allocated
    assert max(moment.reserved for moment in moments) == free.peak_reserved


def fragmented():
    """A run that holds more than it needs: small blocks pin segments that large ones cannot use."""
    builder = TraceBuilder()
    builder.mark("build")
    for step in range(2):
        builder.mark(f"step {step}")
        large = [builder.make(size * MIB) for size in (300, 200, 100)]
        builder.free(*large)
        wide = builder.make(450 * MIB)
        builder.free(wide)
    return builder.build()


def test_the_smallest_cap_trains_and_one_grain_less_does_not():
    made = program(fragmented())
    free = replay(made)
    cap = smallest_cap(made, free.peak_allocated, free.peak_reserved)
    # 600 MiB would do for one step; in the next one 300 is cut from the cached 450, and 200 fits nowhere.
    assert cap.bytes == 650 * MIB
    assert free.peak_reserved == 1050 * MIB
    assert cap.retries > 0
    assert trains(made, cap.bytes) is not None
    assert trains(made, cap.bytes - GRAIN) is None


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 80), st.booleans()), min_size=2, max_size=25),
    st.randoms(use_true_random=False),
)
def test_the_cap_lies_between_the_peaks_for_any_run(requests, chance):
    builder = TraceBuilder()
    builder.mark("step 0")
    alive: list[int] = []
    for size, is_followed_by_a_free in requests:
        alive.append(builder.make(size * MIB))
        if is_followed_by_a_free:
            builder.free(alive.pop(chance.randrange(len(alive))))
    builder.free(*alive)
    made = program(builder.build())
    free = replay(made)
    cap = smallest_cap(made, free.peak_allocated, free.peak_reserved)
    assert free.peak_allocated <= cap.bytes <= free.peak_reserved + GRAIN
    assert trains(made, cap.bytes) is not None


def test_a_convolution_does_without_a_workspace_that_does_not_fit():
    image, weight = a_tensor(64, 64, 56, 56), a_tensor(64, 64, 3, 3)
    builder = TraceBuilder()
    builder.mark("step 0")
    (given_image,) = builder.call(an_operation("aten.empty.memory_format", outputs=[image]), "input")
    made_image = builder.call(an_operation("aten.convolution.default", [image, weight], [image], groups=1))
    builder.free(given_image, *made_image)
    made = program(builder.build())
    free = replay(made)
    cap = smallest_cap(made, free.peak_allocated, free.peak_reserved)
    # Two images of 49 MiB, each in a segment of 50; the workspace would be 98 more.
    assert free.peak_allocated > 195 * MIB
    assert cap.bytes == 100 * MIB


def test_other_operations_need_their_temporaries():
    builder = TraceBuilder()
    rows = a_tensor(16384, 3072, dtype="bfloat16")
    builder.call(an_operation("aten.sum.dim_IntList", [rows], [a_tensor(1, 3072)], dim=[0]))
    with pytest.raises(OutOfMemoryError):
        replay(program(builder.build()), limit=130 * MIB)


def test_a_hundred_thousand_events_replay_in_well_under_a_second():
    made = program(a_trained_mlp(layers=2800, width=64, batch=64))
    events = sum(len(stretch.events) for stretch in made.stretches)
    start = time.process_time()
    outcome = replay(made, steps=5)
    seconds = time.process_time() - start
    assert events * outcome.steps / 2 > 100_000
    # 0.4 s on a quiet core; the bound leaves room for a busy one.
    assert seconds < 3
