"""Which program belongs to which architecture."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from tonnage.memory.ledger.families import bert, convnet, decoder, gpt2, neox, opt, t5, vit
from tonnage.memory.ledger.families.program import Weights
from tonnage.memory.ledger.machine import Machine
from tonnage.memory.ledger.tensors import Tensor
from tonnage.memory.recipe import Recipe
from tonnage.memory.shapes.shape import ModelShape


class FamilyProgram(msgspec.Struct, frozen=True):
    """A family's weights, batch and forward."""

    weights: Callable[[ModelShape, int], Weights]
    loss: Callable[..., Tensor]
    batch: Callable[[Machine, ModelShape, Recipe], tuple[Tensor, ...]]


def _tokens(machine: Machine, shape: ModelShape, recipe: Recipe) -> tuple[Tensor, ...]:
    assert recipe.sequence is not None
    size = (recipe.micro_batch, recipe.sequence)
    labels = size[:1] if shape.head == "sequence" else size
    return machine.input(size, "int64", "tokens"), machine.input(labels, "int64", "labels")


def _images(machine: Machine, shape: ModelShape, recipe: Recipe) -> tuple[Tensor, ...]:
    side = recipe.image or shape.image
    dtype = {"bf16": "bfloat16", "fp16": "float16"}.get(recipe.precision, "float32")
    batch = recipe.micro_batch
    return (
        machine.input((batch, shape.channels, side, side), dtype, "images"),
        machine.input((batch,), "int64", "labels"),
    )


_PROGRAMS = {
    "gpt2": FamilyProgram(gpt2.weights, gpt2.loss, _tokens),
    "gpt_neox": FamilyProgram(neox.weights, neox.loss, _tokens),
    "opt": FamilyProgram(opt.weights, opt.loss, _tokens),
    "llama": FamilyProgram(decoder.weights, decoder.loss, _tokens),
    "mixtral": FamilyProgram(decoder.weights, decoder.loss, _tokens),
    "bert": FamilyProgram(bert.weights, bert.loss, _tokens),
    "t5": FamilyProgram(t5.weights, t5.loss, _tokens),
    "vit": FamilyProgram(vit.weights, vit.loss, _images),
    "convnet": FamilyProgram(convnet.weights, convnet.loss, _images),
}


def family_of(shape: ModelShape) -> FamilyProgram:
    """The program of a shape's family."""
    return _PROGRAMS[shape.family]
