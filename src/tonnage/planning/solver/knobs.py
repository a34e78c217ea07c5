"""The knobs by name: what each stands at, and the setup with one of them turned.

Listed by what turning them costs people: nothing, a little time, more time, a change of how ranks share the
model, and at last other machines.
"""

from __future__ import annotations

from typing import Any, Literal, cast

from msgspec.structs import replace

from tonnage.planning.solver.setup import Devices, Setup, parallel_for

Knob = Literal[
    "optimizer", "micro_batch", "checkpointing", "precision", "sharding", "tensor", "offload", "devices"
]
KNOBS: tuple[Knob, ...] = (
    "optimizer", "micro_batch", "checkpointing", "precision", "sharding", "tensor", "offload", "devices",
)  # fmt: skip


def value_of(knob: Knob, setup: Setup) -> object:
    """What a knob stands at."""
    recipe = setup.recipe
    values: dict[Knob, object] = {
        "optimizer": recipe.optimizer,
        "micro_batch": recipe.micro_batch,
        "checkpointing": recipe.checkpointing,
        "precision": recipe.precision,
        "sharding": setup.sharding,
        "tensor": recipe.parallel.tensor,
        "offload": recipe.offload,
        "devices": setup.devices,
    }
    return values[knob]


def with_value(knob: Knob, setup: Setup, value: Any) -> Setup | None:
    """The setup with one knob turned; the batch is not yet kept. None where ranks cannot be divided so."""
    recipe = setup.recipe
    if knob in ("optimizer", "micro_batch", "checkpointing", "precision", "offload"):
        return replace(setup, recipe=replace(recipe, **{knob: value}))
    devices = cast(Devices, value) if knob == "devices" else setup.devices
    sharding = value if knob == "sharding" else setup.sharding
    tensor = value if knob == "tensor" else recipe.parallel.tensor
    parallel = parallel_for(devices, sharding, tensor=tensor, like=recipe.parallel)
    if parallel is None and knob in ("devices", "tensor"):
        # What was sharded over several may be left with one rank: then there is nothing to shard.
        parallel = parallel_for(
            devices, "fsdp" if sharding == "hsdp" else "ddp", tensor=tensor, like=recipe.parallel
        )
    return None if parallel is None else Setup(replace(recipe, parallel=parallel), devices)
