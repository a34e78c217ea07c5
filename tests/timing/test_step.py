"""Seconds of a traced step."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from timing_builders import addition, attention, convolution, gpu, item, product, step_of, tensor

from tonnage.cluster.gpu_facts import facts_of
from tonnage.memory.trace import Operation
from tonnage.timing.kernels import operation_seconds
from tonnage.timing.reading import work_of
from tonnage.timing.roofline import floor
from tonnage.timing.step import analysed_step, step_time

sizes = st.integers(1, 8192)
aligned = st.integers(1, 128).map(lambda tiles: 64 * tiles)
OPERATIONS = st.one_of(
    st.builds(product, sizes, sizes, sizes, st.sampled_from(["bfloat16", "float16", "float32"])),
    st.builds(addition, st.integers(1, 2**28), st.sampled_from(["bfloat16", "float32"])),
    st.builds(
        attention, st.integers(1, 32), st.integers(1, 32), st.integers(1, 4096), st.sampled_from([64, 128])
    ),
    st.builds(convolution, st.integers(1, 64), st.sampled_from([16, 64, 256]), st.sampled_from([7, 28, 56])),
)


@given(OPERATIONS, st.sampled_from(["h200", "h100", "a100-80", "t4", "b200"]))
@settings(max_examples=150, deadline=None)
def test_no_operation_is_faster_than_the_device_can_be(operation: Operation, name: str) -> None:
    least = floor(work_of(operation), facts_of(gpu(name)))

    assert operation_seconds(operation, gpu(name)) >= max(least, 1e-7)


@given(aligned, aligned, aligned)
@settings(max_examples=60, deadline=None)
def test_four_times_the_rows_of_a_product_are_not_faster(rows: int, depth: int, columns: int) -> None:
    """Measured kernels are not strictly in order: a library may choose a better one for the larger product."""
    once = operation_seconds(product(rows, depth, columns), gpu())

    assert operation_seconds(product(4 * rows, depth, columns), gpu()) >= 0.8 * once


@given(st.integers(1, 2**27))
@settings(max_examples=60, deadline=None)
def test_four_times_the_bytes_are_not_faster(count: int) -> None:
    assert operation_seconds(addition(4 * count), gpu()) >= 0.95 * operation_seconds(addition(count), gpu())


def test_a_step_of_large_work_is_the_sum_of_its_operations() -> None:
    work = product(8192, 8192, 8192)
    one, ten = (step_time(step_of(work, times=times), gpu()).p50 for times in (1, 10))

    assert ten == pytest.approx(10 * operation_seconds(work, gpu()), rel=0.02)
    assert ten == pytest.approx(10 * one, rel=0.05)


def test_a_step_of_small_work_is_bound_by_the_host() -> None:
    step = analysed_step(step_of(addition(64), times=500), gpu())

    assert step.seconds.p50 == pytest.approx(step.host, rel=0.02)
    assert step.launch_bound > 0.3


def test_only_the_last_step_counts() -> None:
    first_step_only = [product(8192, 8192, 8192)] * 3

    steady = step_time(step_of(addition(64), before=first_step_only), gpu())

    assert steady == step_time(step_of(addition(64)), gpu())


def test_asking_for_a_value_in_the_middle_makes_a_step_longer() -> None:
    work = product(4096, 4096, 4096)
    small = addition(64)

    smooth = step_time(step_of(work, *[small] * 50, work, *[small] * 50, times=3), gpu()).p50
    halting = step_time(step_of(work, item(), *[small] * 50, work, item(), *[small] * 50, times=3), gpu()).p50

    assert halting > smooth


def test_the_interval_holds_the_middle() -> None:
    seconds = step_time(step_of(product(4096, 4096, 4096), times=10), gpu())

    assert 0 < seconds.p10 < seconds.p50 < seconds.p90


def test_a_gpu_that_was_not_measured_gets_a_wider_interval_and_says_so() -> None:
    trace = step_of(product(4096, 4096, 4096), times=10)
    measured, carried = analysed_step(trace, gpu("h200")), analysed_step(trace, gpu("a100-80"))

    assert measured.measured_on_device
    assert not carried.measured_on_device
    wide = [step.seconds.p90 / step.seconds.p10 for step in (measured, carried)]
    assert wide[0] < wide[1]


def test_slower_gpus_take_longer() -> None:
    trace = step_of(product(4096, 4096, 4096), addition(2**26), attention(8, 16, 1024, 64), times=20)

    order = [step_time(trace, gpu(name)).p50 for name in ("b200", "h200", "h100", "a100-80", "a10", "t4")]

    assert order == sorted(order)


def test_collectives_take_longer_between_more_ranks_and_over_slower_links() -> None:
    gradients = Operation("c10d.allreduce_.default", (tensor(2**27),), (tensor(2**27),))

    alone = step_time(step_of(gradients, world_size=1), gpu()).p50
    node = step_time(step_of(gradients, world_size=8), gpu()).p50
    cluster = step_time(step_of(gradients, world_size=64), gpu()).p50
    without_nvlink = step_time(step_of(gradients, world_size=8), gpu("l40s")).p50

    assert alone < node < cluster
    assert without_nvlink > 5 * node


def test_collectives_hide_behind_work() -> None:
    gradients = Operation("c10d.allreduce_.default", (tensor(2**24),), (tensor(2**24),))
    work = product(8192, 8192, 8192)

    step = analysed_step(step_of(gradients, work, work, world_size=8), gpu())

    assert step.exposed_communication == 0
    assert step.seconds.p50 == pytest.approx(2 * operation_seconds(work, gpu()), rel=0.05)
