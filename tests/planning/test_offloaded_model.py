"""A model is as large in host memory as on the GPU: offloading moves parts, it does not make them vanish."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tonnage.cluster.gpus import find_gpu
from tonnage.memory.estimate import Estimate
from tonnage.memory.ledger import shape_estimate
from tonnage.memory.recipe import Parallel, Recipe
from tonnage.memory.shapes import find_shape
from tonnage.planning.workload.sizing import ModelBytes, whole_model

RECIPES = {
    "alone": Recipe(1, 128),
    "fsdp": Recipe(1, 128, parallel=Parallel(fsdp=4)),
    "zero2": Recipe(1, 128, precision="bf16", parallel=Parallel(ddp=4, zero=2)),
    "adapters": Recipe(1, 128, lora_rank=8),
    "momentum-free": Recipe(1, 128, optimizer="sgd"),
}


def estimate(recipe: Recipe, *, quick: bool = False) -> Estimate:
    shape, gpu = find_shape("gpt2"), find_gpu("h100")
    assert shape is not None
    assert gpu is not None
    return shape_estimate(shape, recipe, gpu, quick=quick)


def model(recipe: Recipe, *, quick: bool = False) -> ModelBytes:
    found = whole_model(estimate(recipe, quick=quick), recipe)
    assert found is not None
    return found


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("offload", ["optimizer", "all"])
@pytest.mark.parametrize("name", RECIPES)
def test_the_whole_model_is_the_same_wherever_its_parts_are(name: str, offload: str, quick: bool) -> None:
    kept = model(RECIPES[name])
    moved = model(replace(RECIPES[name], offload=offload), quick=quick)
    assert moved.parameters == pytest.approx(kept.parameters, rel=0.01)
    assert moved.checkpoint == pytest.approx(kept.checkpoint, rel=0.01)
    assert moved.trained == pytest.approx(kept.trained, rel=0.01)


def test_what_is_offloaded_is_not_on_the_gpu_too() -> None:
    kept, moved = (estimate(replace(RECIPES["alone"], offload=offload)) for offload in ("none", "all"))
    on_gpu = {part.name: part.bytes for part in moved.parts}
    assert not on_gpu.get("parameters")
    assert {part.name for part in moved.on_host} == {"parameters", "optimizer"}
    assert not kept.on_host
    assert moved.peak_allocated < kept.peak_allocated
