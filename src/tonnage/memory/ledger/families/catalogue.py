"""Which program belongs to which architecture."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tonnage.memory.ledger.families import decoder, gpt2
from tonnage.memory.ledger.families.program import Program, Weights
from tonnage.memory.ledger.machine import Machine
from tonnage.memory.ledger.tensors import Tensor
from tonnage.memory.recipe import Recipe
from tonnage.memory.shapes.shape import ModelShape


@dataclass(frozen=True, slots=True)
class FamilyProgram:
    """A family's weights, batch and forward."""

    weights: Callable[[ModelShape, int], Weights]
    loss: Callable[..., Tensor]
    batch: Callable[[Machine, ModelShape, Recipe], tuple[Tensor, ...]]


def _tokens(machine: Machine, shape: ModelShape, recipe: Recipe) -> tuple[Tensor, ...]:
    assert recipe.sequence is not None
    size = (recipe.micro_batch, recipe.sequence)
    return machine.input(size, "int64", "tokens"), machine.input(size, "int64", "labels")


def family_of(shape: ModelShape) -> FamilyProgram:
    """The program of a shape's family."""
    if shape.family == "gpt2":
        return FamilyProgram(gpt2.weights, gpt2.loss, _tokens)
    return FamilyProgram(decoder.weights, decoder.loss, _tokens)
