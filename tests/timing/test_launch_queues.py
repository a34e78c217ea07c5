"""Two timelines: the host asks, the device works off."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tonnage.timing.queues import QUEUE_LENGTH, Asked, play

MICRO = 1e-6
seconds = st.floats(1e-7, 1e-3)
calls = st.lists(st.builds(Asked, host=seconds, device=seconds, waits=st.booleans()), min_size=1, max_size=60)


def test_small_kernels_take_as_long_as_asking_for_them() -> None:
    lines = play([Asked(host=10 * MICRO, device=2 * MICRO)] * 1000, gap=0.0)

    assert lines.end == pytest.approx(1000 * 10 * MICRO + 2 * MICRO)


def test_large_kernels_take_as_long_as_doing_them() -> None:
    lines = play([Asked(host=10 * MICRO, device=200 * MICRO)] * 1000, gap=0.0)

    assert lines.end == pytest.approx(10 * MICRO + 1000 * 200 * MICRO)


def test_large_kernels_before_small_ones_hide_the_asking() -> None:
    large, small = Asked(host=5 * MICRO, device=1000 * MICRO), Asked(host=5 * MICRO, device=1 * MICRO)

    hidden = play([large] * 2 + [small] * 100, gap=0.0).end
    shown = play([small] * 100 + [large] * 2, gap=0.0).end

    assert hidden == pytest.approx(5 * MICRO + 2000 * MICRO + 100 * MICRO)
    assert shown > hidden + 300 * MICRO


def test_a_value_the_host_waits_for_drains_the_queue() -> None:
    work = Asked(host=1 * MICRO, device=100 * MICRO)

    through = play([work] * 20, gap=0.0).end
    stopped = play([work] * 10 + [Asked(host=0.0, device=0.0, waits=True)] + [work] * 10, gap=0.0).end

    assert stopped == pytest.approx(through + 1 * MICRO)


def test_the_host_cannot_run_further_ahead_than_the_queue_is_long() -> None:
    lines = play([Asked(host=0.0, device=10 * MICRO)] * (QUEUE_LENGTH + 100), gap=0.0)

    assert lines.host == pytest.approx(100 * 10 * MICRO)


def test_collectives_run_beside_the_work_behind_them() -> None:
    work = Asked(host=0.0, device=100 * MICRO)
    gather = Asked(host=0.0, device=80 * MICRO, is_collective=True)
    join = Asked(host=0.0, device=10 * MICRO, joins=True)

    overlapped = play([work, gather, work, join], gap=0.0)
    exposed = play([work, gather, join], gap=0.0)

    assert overlapped.end == pytest.approx(210 * MICRO)
    assert overlapped.exposed == 0.0
    assert exposed.end == pytest.approx(190 * MICRO)
    assert exposed.exposed == pytest.approx(80 * MICRO)


@given(calls)
def test_a_step_is_never_shorter_than_either_timeline_nor_longer_than_both(asked: list[Asked]) -> None:
    lines = play(asked, gap=0.0)
    host, device = sum(call.host for call in asked), sum(call.device for call in asked)

    assert max(host, device) <= lines.end * (1 + 1e-9)
    assert lines.end <= (host + device) * (1 + 1e-9)


@given(calls, calls)
def test_steps_one_after_the_other_take_no_longer_than_apart(first: list[Asked], second: list[Asked]) -> None:
    together = play([*first, *second], gap=0.0).end

    assert together <= (play(first, gap=0.0).end + play(second, gap=0.0).end) * (1 + 1e-9)
    assert together >= play(first, gap=0.0).end * (1 - 1e-9)
