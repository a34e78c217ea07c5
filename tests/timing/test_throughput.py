"""From a step to a run."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from timing_builders import gpu

from tonnage.memory.estimate import Interval
from tonnage.timing.throughput import model_flops_utilisation, throughput

STEP = Interval(0.8, 1.0, 1.25)


def test_samples_and_tokens_follow_from_the_step() -> None:
    pace = throughput(STEP, samples_per_step=32, tokens_per_sample=1024)

    assert pace.samples_per_second == Interval(32 / 1.25, 32.0, 40.0)
    assert pace.tokens_per_second is not None
    assert pace.tokens_per_second.p50 == 32 * 1024


def test_hours_to_the_end_are_the_steps_left() -> None:
    pace = throughput(STEP, samples_per_step=1, steps=7200)

    assert pace.hours_to_end == Interval(1.6, 2.0, 2.5)


def test_a_loader_that_keeps_up_costs_nothing() -> None:
    pace = throughput(STEP, samples_per_step=32, loader_samples_per_second=64)

    assert pace.step_seconds == STEP
    assert pace.idle_share == Interval(0.0, 0.0, 0.0)
    assert not pace.loader_is_bottleneck


def test_a_loader_that_cannot_keep_up_leaves_the_gpus_idle() -> None:
    pace = throughput(STEP, samples_per_step=32, loader_samples_per_second=16)

    assert pace.step_seconds.p50 == 2.0
    assert pace.idle_share.p50 == pytest.approx(0.5)
    assert pace.loader_is_bottleneck
    assert pace.samples_per_second.p50 == 16


def test_utilisation_is_the_models_arithmetic_over_the_peak() -> None:
    used = model_flops_utilisation(STEP, 989.4e12 * 0.4 * 8, gpu("h200"), gpus=8)

    assert used.p50 == pytest.approx(0.4)
    assert used.p10 == pytest.approx(0.32)


@given(st.floats(0.001, 100), st.floats(0.1, 1e5), st.floats(0.1, 1e5))
def test_a_faster_loader_never_slows_a_run(step: float, slow: float, more: float) -> None:
    interval = Interval(step * 0.9, step, step * 1.1)

    before = throughput(interval, samples_per_step=8, loader_samples_per_second=slow)
    after = throughput(interval, samples_per_step=8, loader_samples_per_second=slow + more)

    assert after.samples_per_second.p50 >= before.samples_per_second.p50
    assert after.idle_share.p50 <= before.idle_share.p50


@pytest.mark.parametrize(
    "wrong", [{"samples_per_step": 0}, {"samples_per_step": 1, "loader_samples_per_second": 0}]
)
def test_impossible_figures_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="not 0"):
        throughput(STEP, **wrong)  # type: ignore[arg-type]
