"""Combinations of model and recipe that no run can have."""

from __future__ import annotations

from typing import Any

import pytest

from tonnage.cluster.gpus import find_gpu
from tonnage.memory.ledger import shape_estimate
from tonnage.memory.recipe import Parallel, Recipe
from tonnage.memory.shapes import ShapeError, find_shape, shape_from_config

H200 = find_gpu("h200")


def refusal(name: str, **recipe: Any) -> set[str]:
    assert H200 is not None
    with pytest.raises(ShapeError) as caught:
        shape_estimate(find_shape(name), Recipe(**{"micro_batch": 1, **recipe}), H200)
    return {problem.code for problem in caught.value.problems}


@pytest.mark.parametrize(
    ("name", "recipe", "code"),
    [
        ("gpt2", {}, "SHAPE-022"),
        ("gpt2", {"sequence": 64, "image": 224}, "SHAPE-025"),
        ("gpt2", {"sequence": 2048}, "SHAPE-023"),
        ("resnet18", {"sequence": 64}, "SHAPE-024"),
        ("resnet18", {"lora_rank": 8}, "SHAPE-030"),
        ("resnet18", {"checkpointing": "full"}, "SHAPE-031"),
        ("vit_b_16", {"image": 225}, "SHAPE-026"),
        ("maxvit_t", {"image": 256}, "SHAPE-026"),
        ("gpt2", {"sequence": 64, "parallel": Parallel(tensor=5)}, "SHAPE-033"),
        ("gpt2", {"sequence": 64, "parallel": Parallel(pipeline=99)}, "SHAPE-034"),
        ("gpt2", {"sequence": 64, "parallel": Parallel(expert=2)}, "SHAPE-036"),
        ("mixtral-8x7b", {"sequence": 64, "parallel": Parallel(expert=3)}, "SHAPE-035"),
        ("gpt2", {"sequence": 64, "micro_batch": 0}, "SHAPE-020"),
        ("llama-3-8b", {"sequence": 10**6, "micro_batch": 10**6}, "SHAPE-027"),
    ],
)
def test_an_impossible_recipe_is_refused_by_name(name: str, recipe: dict[str, Any], code: str) -> None:
    assert code in refusal(name, **recipe)


def test_every_contradiction_is_told_at_once() -> None:
    assert refusal("gpt2", image=3, micro_batch=0) >= {"SHAPE-020", "SHAPE-025"}


def test_an_activation_without_formulas_is_refused() -> None:
    assert H200 is not None
    shape = shape_from_config({"model_type": "llama", "hidden_act": "swiglu_oai"})
    with pytest.raises(ShapeError, match="SHAPE-037"):
        shape_estimate(shape, Recipe(micro_batch=1, sequence=8), H200)
