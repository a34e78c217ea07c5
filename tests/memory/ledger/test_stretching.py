"""Layers that are alike are run once; what is written for the others is what running them would have left."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tonnage.errors import TonnageError
from tonnage.memory.ledger.checking import check_recipe
from tonnage.memory.ledger.families.program import Program
from tonnage.memory.ledger.stepping import Run, run_steps, trace_of
from tonnage.memory.recipe import Parallel, Recipe
from tonnage.memory.shapes import ModelShape, find_shape

MODELS = (
    "llama-3-8b", "mistral-7b", "qwen3-0.6b", "gemma-2-2b", "mixtral-8x7b", "gpt2", "bert-base-uncased", "t5-small",
    "vit-base-patch16-224",
)  # fmt: skip
PARALLEL = (
    Parallel(), Parallel(ddp=8), Parallel(fsdp=16), Parallel(ddp=4, zero=2), Parallel(ddp=8, zero=3),
    Parallel(tensor=2), Parallel(pipeline=2, fsdp=2),
)  # fmt: skip

recipes = st.builds(
    Recipe,
    micro_batch=st.integers(1, 4),
    sequence=st.sampled_from([128, 512]),
    precision=st.sampled_from(["bf16", "amp-bf16", "amp-fp16", "fp32"]),
    optimizer=st.sampled_from(["adamw", "adamw-fused", "adamw-forloop", "sgd", "sgdm", "adafactor"]),
    checkpointing=st.sampled_from(["none", "full", "selective"]),
    attention=st.sampled_from(["sdpa", "eager", "flash"]),
    accumulation=st.integers(1, 3),
    lora_rank=st.sampled_from([None, None, 8]),
    parallel=st.sampled_from(PARALLEL),
    offload=st.sampled_from(["none", "none", "optimizer", "all"]),
)


@given(st.sampled_from(MODELS), st.integers(2, 14), recipes)
@settings(max_examples=15, deadline=None)
def test_written_layers_leave_the_record_that_running_them_leaves(
    name: str, layers: int, recipe: Recipe
) -> None:
    shape = deep(name, layers)
    recipe = for_family(shape, recipe)
    try:
        check_recipe(shape, recipe)
    except TonnageError:
        assume(False)
    run_each, written = (run_steps(shape, recipe, layer_by_layer=each) for each in (True, False))
    assert record(run_each, recipe) == record(written, recipe)


@pytest.mark.parametrize("checkpointing", ["none", "full", "selective"])
@pytest.mark.parametrize("name", MODELS)
def test_a_deep_model_of_every_family_is_written_not_run(
    name: str, checkpointing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shape = deep(name, 30)
    recipe = for_family(shape, Recipe(3, 256, checkpointing=checkpointing))  # type: ignore[arg-type]
    entered: list[str] = []
    plain = Program.block

    def counted(self: Program, name: str, *rest: Any) -> Any:
        entered.append(name)
        return plain(self, name, *rest)

    monkeypatch.setattr(Program, "block", counted)
    run_steps(shape, recipe)
    assert len(entered) < 30


def deep(name: str, layers: int) -> ModelShape:
    shape = find_shape(name)
    return replace(shape, layers=layers, decoder_layers=layers if shape.decoder_layers else 0)


def for_family(shape: ModelShape, recipe: Recipe) -> Recipe:
    return replace(recipe, sequence=None) if shape.family == "vit" else recipe


def record(run: Run, recipe: Recipe) -> tuple[object, ...]:
    return trace_of(run, recipe, "h200"), run.tape.labels, run.tape.block_modules, run.tape.alive
