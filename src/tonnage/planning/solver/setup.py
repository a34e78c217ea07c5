"""One complete choice: how every rank trains, and what it runs on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import msgspec
from msgspec.structs import replace

from tonnage.figures import plural
from tonnage.memory.recipe import Parallel, Recipe

Sharding = Literal["ddp", "zero1", "zero2", "zero3", "fsdp", "hsdp"]
"""How data-parallel ranks share one copy; `hsdp` shards inside a node and copies between nodes."""


class Devices(msgspec.Struct, frozen=True):
    """What the ranks run on: so many GPUs of one type on each of so many nodes."""

    gpu: str
    per_node: int
    nodes: int = 1

    @property
    def count(self) -> int:
        return self.per_node * self.nodes

    def __str__(self) -> str:
        return f"{plural(self.nodes, 'node')} x {self.per_node} {self.gpu}"


class Setup(msgspec.Struct, frozen=True):
    """A recipe on devices."""

    recipe: Recipe
    devices: Devices

    @property
    def global_batch(self) -> int:
        """Samples per optimizer step."""
        return self.recipe.micro_batch * self.recipe.accumulation * self.recipe.parallel.data

    @property
    def sharding(self) -> Sharding:
        return sharding_of(self.recipe.parallel)

    @property
    def kind(self) -> tuple[object, ...]:
        """Everything but the micro-batch: setups of one kind differ only in how a step is cut."""
        recipe = self.recipe
        return (
            self.devices, recipe.parallel, recipe.checkpointing, recipe.precision, recipe.offload,
            recipe.optimizer,
        )  # fmt: skip


def sharding_of(parallel: Parallel) -> Sharding:
    """The name of how data-parallel ranks share one copy."""
    if parallel.fsdp > 1:
        return "hsdp" if parallel.ddp > 1 else "fsdp"
    by_stage: dict[int, Sharding] = {0: "ddp", 1: "zero1", 2: "zero2", 3: "zero3"}
    return by_stage[parallel.zero]


def parallel_for(devices: Devices, sharding: Sharding, *, tensor: int, like: Parallel) -> Parallel | None:
    """How that many devices share the work; None where they cannot be divided so."""
    held, rest = divmod(devices.count, tensor * like.pipeline)
    if rest or held == 0 or tensor > devices.per_node or devices.per_node % tensor:
        return None
    plain = replace(like, ddp=1, fsdp=1, zero=0, tensor=tensor)
    if sharding == "ddp":
        return replace(plain, ddp=held)
    if sharding == "fsdp":
        return replace(plain, fsdp=held) if held > 1 else None
    if sharding == "hsdp":
        inside, uneven = divmod(devices.per_node, tensor)
        between, odd = divmod(held, inside)
        is_hybrid = not uneven and not odd and inside > 1 and between > 1
        return replace(plain, fsdp=inside, ddp=between) if is_hybrid else None
    stages: dict[str, Literal[1, 2, 3]] = {"zero1": 1, "zero2": 2, "zero3": 3}
    return replace(plain, ddp=held, zero=stages[sharding]) if held > 1 else None


def rebatched(recipe: Recipe, global_batch: int, micro_batch: int) -> Recipe | None:
    """The recipe with another micro-batch and the same global batch; None where it does not divide."""
    accumulation, rest = divmod(global_batch, micro_batch * recipe.parallel.data)
    if rest or accumulation == 0:
        return None
    return replace(recipe, micro_batch=micro_batch, accumulation=accumulation)


def micro_batches(global_batch: int, data: int) -> Iterator[int]:
    """Every micro-batch that divides what one rank sees per step, smallest first."""
    per_rank, rest = divmod(global_batch, data)
    if rest == 0:
        yield from (size for size in range(1, per_rank + 1) if per_rank % size == 0)
