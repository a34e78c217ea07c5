"""Which setups may be chosen: every combination of the knobs that are free, and only those.

A knob is free unless the document's own words fix it (a traced step that does not take it, GPUs that were
named) or turning it changes what is computed: number formats need consent, everything else gives the same
training. The global batch never changes.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from msgspec.structs import replace

from tonnage.memory.recipe import Checkpointing, Offload, Optimizer, Precision, Recipe
from tonnage.planning.solver.setup import (
    Devices,
    Setup,
    Sharding,
    micro_batches,
    parallel_for,
    rebatched,
)

CHECKPOINTING: tuple[Checkpointing, ...] = ("none", "selective", "full")
OFFLOADS: tuple[Offload, ...] = ("none", "optimizer", "all")
LEANER: tuple[Precision, ...] = ("fp32", "amp-fp16", "amp-bf16", "fp16", "bf16")
"""Number formats, the one that takes least memory last."""


class Space(msgspec.Struct, frozen=True):
    """The values each knob may take; the base's own are always among them."""

    base: Setup
    global_batch: int
    devices: tuple[Devices, ...]
    checkpointing: tuple[Checkpointing, ...]
    precisions: tuple[Precision, ...]
    optimizers: tuple[Optimizer, ...]
    shardings: tuple[Sharding, ...]
    tensor: tuple[int, ...]
    offloads: tuple[Offload, ...]
    may_cut: bool = True
    """Whether the micro-batch may change."""
    fixed: tuple[tuple[str, str], ...] = ()
    """Knobs that may not be turned, each with the reason."""


def only(base: Setup) -> Space:
    """The space of one setup: a start to open knobs from."""
    recipe = base.recipe
    return Space(
        base=base,
        global_batch=base.global_batch,
        devices=(base.devices,),
        checkpointing=(recipe.checkpointing,),
        precisions=(recipe.precision,),
        optimizers=(recipe.optimizer,),
        shardings=(base.sharding,),
        tensor=(recipe.parallel.tensor,),
        offloads=(recipe.offload,),
        may_cut=False,
    )


def setups(space: Space) -> Iterator[Setup]:
    """Every setup of the space, each once."""
    for kind in kinds(space):
        yield from cuts(kind, space)


def kinds(space: Space) -> Iterator[Setup]:
    """One setup of every kind: all combinations but the micro-batch (which is the base's, or 1)."""
    seen: set[tuple[object, ...]] = set()
    like = space.base.recipe.parallel
    for devices in space.devices:
        for sharding in space.shardings:
            for tensor in space.tensor:
                parallel = parallel_for(devices, sharding, tensor=tensor, like=like)
                if parallel is None:
                    continue
                shared = replace(space.base.recipe, parallel=parallel)
                for recipe in _recipes(shared, space):
                    setup = Setup(recipe, devices)
                    if setup.kind not in seen:
                        seen.add(setup.kind)
                        yield setup


def cuts(kind: Setup, space: Space) -> list[Setup]:
    """The setups of one kind, by micro-batch, smallest first; none where the batch cannot be kept."""
    sizes = [kind.recipe.micro_batch]
    if space.may_cut:
        sizes = list(micro_batches(space.global_batch, kind.recipe.parallel.data))
    recipes = (rebatched(kind.recipe, space.global_batch, size) for size in sizes)
    return [replace(kind, recipe=recipe) for recipe in recipes if recipe is not None]


def leanest(space: Space) -> Setup | None:
    """The setup of the space that takes least memory, as far as one can know without asking."""
    order = {"ddp": 0, "zero1": 1, "zero2": 2, "hsdp": 3, "zero3": 4, "fsdp": 5}
    best: tuple[tuple[int, ...], Setup] | None = None
    for kind in kinds(space):
        smallest = cuts(kind, space)[:1]
        if not smallest:
            continue
        recipe, parallel = kind.recipe, kind.recipe.parallel
        rank = (
            OFFLOADS.index(recipe.offload),
            parallel.tensor
            * (parallel.fsdp if parallel.fsdp > 1 else parallel.ddp if parallel.zero == 3 else 1),
            parallel.tensor,  # shares activations as well, where the states are shared alike
            order[kind.sharding],
            CHECKPOINTING.index(recipe.checkpointing),
            LEANER.index(recipe.precision),
            recipe.optimizer == "adamw-fused",
        )
        if best is None or rank > best[0]:
            best = rank, smallest[0]
    return best[1] if best else None


def _recipes(like: Recipe, space: Space) -> Iterator[Recipe]:
    for checkpointing in space.checkpointing:
        for precision in space.precisions:
            for optimizer in space.optimizers:
                for offload in space.offloads:
                    yield replace(
                        like,
                        checkpointing=checkpointing,
                        precision=precision,
                        optimizer=optimizer,
                        offload=offload,
                    )
