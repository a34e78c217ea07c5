"""Estimators behind one port: asked once, and honest about what they cannot say."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace
from plan_builders import AnEstimator
from solver_builders import a_setup

from tonnage.errors import Problem
from tonnage.memory.estimate import Estimate, Interval
from tonnage.memory.recipe import Checkpointing, Optimizer, Parallel, Precision
from tonnage.memory.shapes import find_shape
from tonnage.planning.contradicting import NO_FORMULAS, contradiction_in, is_contradiction
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
    # Seven passes more, each adding its gradients to those before; the optimizer runs once either way.
    assert 4 < second.step_seconds.p50 / first.step_seconds.p50 < 9
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


@pytest.mark.parametrize("ranks", [8, 64])
def test_a_rough_answer_for_a_deep_model_knows_what_its_ranks_hold_for_one_another(ranks: int) -> None:
    # An embedding as large as dozens of layers: in a shallow model it is most of what is gathered, here it is not.
    estimator = ShapeEstimator(find_shape("qwen3-0.6b"))
    setup = a_setup(micro_batch=1, gpu="h100", sequence=256)
    setup = replace(setup, recipe=replace(setup.recipe, parallel=Parallel(fsdp=ranks)))
    rough, full = estimator.roughly(setup), estimator.memory(setup)

    assert rough is not None
    assert abs(rough.peak_allocated / full.peak_allocated - 1) < 0.05


def test_what_is_far_too_large_is_not_worked_out_in_full() -> None:
    estimator = ShapeEstimator(find_shape("gpt2"))
    asked: list[Setup] = []

    class Counted(ShapeEstimator):
        def memory(self, setup: Setup) -> Estimate:
            asked.append(setup)
            return estimator.memory(setup)

    scales = Scales(Counted(find_shape("gpt2")), offered=None, prices={})
    huge, small = (a_setup(micro_batch=size, gpu="h100", sequence=1024) for size in (512, 2))

    assert scales.is_hopeless(huge)
    assert [room.fits for setup in (huge, small) if (room := scales.room(setup)) is not None] == [False, True]
    assert not scales.is_hopeless(small)
    assert asked == [small]


@pytest.mark.parametrize("precision", ["amp-bf16", "bf16"])
@pytest.mark.parametrize("checkpointing", ["none", "full"])
@pytest.mark.parametrize("micro_batch", [1, 8])
def test_the_least_that_is_told_early_is_never_above_the_full_answer(
    precision: Precision, checkpointing: Checkpointing, micro_batch: int
) -> None:
    estimator = ShapeEstimator(find_shape("distilgpt2"))
    setup = a_setup(micro_batch=micro_batch, gpu="h100", sequence=512)
    setup = replace(setup, recipe=replace(setup.recipe, precision=precision, checkpointing=checkpointing))
    bounds, full = list(estimator.bounds(setup)), estimator.memory(setup)

    assert bounds == sorted(bounds)
    assert 0.8 * full.required < bounds[-1] <= full.required


@pytest.mark.parametrize("micro_batch", [1, 8])
@pytest.mark.parametrize("known", ["adamw", "adamw-forloop"])
def test_what_another_optimizers_step_held_bounds_the_fused_one_from_below(
    known: Optimizer, micro_batch: int
) -> None:
    estimator = ShapeEstimator(find_shape("distilgpt2"))
    setup = a_setup(micro_batch=micro_batch, gpu="h100", sequence=512)
    known_setup, fused = (
        replace(setup, recipe=replace(setup.recipe, optimizer=kind)) for kind in (known, "adamw-fused")
    )
    unaided = list(estimator.bounds(fused))
    estimator.memory(known_setup)
    bound, *others = estimator.bounds(fused)

    assert others == unaided
    assert 0.5 * unaided[0] < bound <= unaided[0]


def test_what_does_not_fit_without_a_limit_is_neither_searched_nor_timed() -> None:
    asked: list[str] = []

    class Counted(ShapeEstimator):
        def memory(self, setup: Setup) -> Estimate:
            asked.append("memory")
            return super().memory(setup)

        def seconds(self, setup: Setup) -> Interval | None:
            asked.append("seconds")
            return super().seconds(setup)

    estimator = Remembered(Counted(find_shape("gpt2")))
    setup = a_setup(micro_batch=58, gpu="h100", sequence=1024)
    room = Scales(estimator, offered=None, prices={}).room(setup)

    assert room is not None
    assert not room.fits
    assert asked == []
    assert not estimator.estimate(setup).required <= room.usable


def test_memory_that_is_known_is_not_worked_out_again_for_the_whole_answer() -> None:
    asked: list[Setup] = []

    class Counted(ShapeEstimator):
        def memory(self, setup: Setup) -> Estimate:
            asked.append(setup)
            return super().memory(setup)

    estimator = Remembered(Counted(find_shape("distilgpt2")))
    setup = a_setup(micro_batch=1, gpu="h100", sequence=256)

    assert estimator.memory(setup).step_seconds is None
    assert estimator.estimate(setup).step_seconds == estimator.seconds(setup)
    assert estimator.memory(setup).required == estimator.estimate(setup).required
    assert list(estimator.bounds(setup)) == [estimator.estimate(setup).required]
    assert len(asked) == 1


# -- what the formulas refuse


def refused(**changes: Any) -> CannotEstimate:
    """What the formulas say of GPT-2 with such a recipe."""
    setup = a_setup(gpu="h100")
    recipe = replace(setup.recipe, micro_batch=1, sequence=128, parallel=Parallel())
    with pytest.raises(CannotEstimate) as caught:
        ShapeEstimator(find_shape("gpt2")).memory(replace(setup, recipe=replace(recipe, **changes)))
    return caught.value


@pytest.mark.parametrize(
    ("changes", "mend"),
    [
        ({"sequence": 4096}, "train.sequence: at most 1024"),
        ({"sequence": None}, "say train.sequence"),
        ({"image": 224}, "drop train.imageSize"),
        ({"parallel": Parallel(expert=2)}, "drop train.parallel.expert"),
        ({"parallel": Parallel(pipeline=64)}, "train.parallel.pipeline: at most 12"),
    ],
)
def test_a_recipe_that_contradicts_its_model_is_mended_in_the_words_of_the_document(
    changes: dict[str, Any], mend: str
) -> None:
    found = contradiction_in(refused(**changes))

    assert found is not None
    assert mend in found.mend
    assert "--" not in found.mend


def test_several_contradictions_are_all_told() -> None:
    found = contradiction_in(refused(sequence=4096, image=224))

    assert found is not None
    assert "has 1024 positions" in str(found)
    assert "reads text, not images" in str(found)


@pytest.mark.parametrize("code", sorted(NO_FORMULAS))
def test_steps_that_only_our_formulas_do_not_cover_are_no_contradiction(code: str) -> None:
    assert not is_contradiction(Problem(code=code, what="we have no formulas for this"))


def test_a_step_that_could_not_be_traced_is_no_contradiction() -> None:
    assert contradiction_in(CannotEstimate("no such step")) is None
