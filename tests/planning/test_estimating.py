"""Estimators behind one port: asked once, and honest about what they cannot say."""

from __future__ import annotations

import pytest
from plan_builders import AnEstimator
from solver_builders import a_setup

from tonnage.memory.estimate import Interval
from tonnage.memory.shapes import find_shape
from tonnage.planning.estimating import CannotEstimate, Remembered, repeated
from tonnage.planning.shape_estimating import ShapeEstimator


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
