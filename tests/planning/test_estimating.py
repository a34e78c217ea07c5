"""Estimators behind one port: asked once, and honest about what they cannot say."""

from __future__ import annotations

import pytest
from plan_builders import AnEstimator
from solver_builders import a_setup

from tonnage.memory.estimate import Estimate, Interval
from tonnage.memory.shapes import find_shape
from tonnage.planning.estimating import CannotEstimate, Remembered, repeated
from tonnage.planning.shape_estimating import ShapeEstimator
from tonnage.planning.solver.setup import Setup
from tonnage.planning.weighing import SURELY, Scales


def test_each_question_is_asked_once() -> None:
    estimator = AnEstimator()
    remembered = Remembered(estimator)
    setup = a_setup(gpu="h100")

    assert remembered.estimate(setup) == remembered.estimate(setup)
    assert remembered.seconds(setup) == remembered.estimate(setup).step_seconds
    assert estimator.asked == 1


def test_a_refusal_is_remembered_too() -> None:
    remembered = Remembered(AnEstimator())
    setup = a_setup(micro_batch=2000, gpu="h100")

    for _ in range(2):
        with pytest.raises(CannotEstimate, match="no such step"):
            remembered.estimate(setup)


def test_repeating_a_micro_batch_costs_the_difference_of_one_and_two() -> None:
    assert repeated(Interval(1, 2, 3), Interval(1.5, 3, 4.5), 5) == Interval(3, 6, 9)


def test_a_shape_is_estimated_with_its_time() -> None:
    estimator = ShapeEstimator(find_shape("gpt2"))
    once, often = (a_setup(micro_batch=2, accumulation=times, gpu="h100", sequence=256) for times in (1, 8))
    first, second = estimator.estimate(once), estimator.estimate(often)

    assert first.mode == "shape"
    assert first.step_seconds is not None
    assert second.step_seconds is not None
    assert 4 < second.step_seconds.p50 / first.step_seconds.p50 < 8
    assert second.required >= first.required


def test_a_shape_that_does_not_go_with_its_recipe_says_why() -> None:
    with pytest.raises(CannotEstimate):
        ShapeEstimator(find_shape("gpt2")).estimate(a_setup(gpu="h100"))  # no sequence is said


def test_a_rough_answer_is_near_enough_to_tell_what_is_hopeless() -> None:
    estimator = ShapeEstimator(find_shape("gpt2"))
    setup = a_setup(micro_batch=4, gpu="h100", sequence=512)
    rough, full = estimator.roughly(setup), estimator.estimate(setup)

    assert rough is not None
    assert rough.peak_allocated * SURELY < full.smallest_cap
    assert abs(rough.peak_allocated / full.peak_allocated - 1) < 0.05


def test_what_is_far_too_large_is_not_worked_out_in_full() -> None:
    estimator = ShapeEstimator(find_shape("gpt2"))
    asked: list[Setup] = []

    class Counted(ShapeEstimator):
        def estimate(self, setup: Setup) -> Estimate:
            asked.append(setup)
            return estimator.estimate(setup)

    scales = Scales(Counted(find_shape("gpt2")), offered=None, prices={})
    huge, small = (a_setup(micro_batch=size, gpu="h100", sequence=1024) for size in (512, 2))

    assert scales.is_hopeless(huge)
    assert [room.fits for setup in (huge, small) if (room := scales.room(setup)) is not None] == [False, True]
    assert not scales.is_hopeless(small)
    assert asked == [small]
