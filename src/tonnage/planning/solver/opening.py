"""Open the knobs: from what was asked for to everything that may be tried.

GPUs that a person named are kept as long as something fits on them; where nothing does, and with their
consent always, other types and numbers on offer are tried too.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from tonnage.memory.recipe import Optimizer, Precision
from tonnage.planning.solver.setup import Devices, Setup, Sharding
from tonnage.planning.solver.space import CHECKPOINTING, OFFLOADS, Space, only

HALF: tuple[Precision, ...] = ("amp-bf16", "bf16")
DEEPSPEED: tuple[Sharding, ...] = ("ddp", "zero1", "zero2", "zero3")
TORCH: tuple[Sharding, ...] = ("ddp", "fsdp", "hsdp")
TENSOR = (1, 2, 4, 8)


def open_space(
    base: Setup,
    *,
    knobs: Sequence[str],
    heads: int | None = None,
    uses_deepspeed: bool = False,
    may_change_precision: bool = False,
    devices: Sequence[Devices] = (),
) -> Space:
    """Every knob the estimator can turn, at every value that makes sense for this run."""
    space = only(base)
    fixed: list[tuple[str, str]] = []
    can = set(knobs)

    def is_open(knob: str, reason: str = "build does not take it") -> bool:
        if knob in can:
            return True
        fixed.append((knob, reason))
        return False

    if is_open("micro_batch"):
        if "accumulation" in can:
            space = replace(space, may_cut=True)
        else:
            fixed.append(("accumulation", "build does not take it, so the global batch would change"))
    if is_open("checkpointing"):
        space = replace(space, checkpointing=CHECKPOINTING)
    if is_open("optimizer"):
        space = replace(space, optimizers=_optimizers(base.recipe.optimizer))
    if is_open("precision"):
        if may_change_precision:
            space = replace(space, precisions=tuple(dict.fromkeys((base.recipe.precision, *HALF))))
        else:
            fixed.append(("precision", "changes the numerics: --allow precision"))
    if is_open("sharding"):
        family = DEEPSPEED if uses_deepspeed or base.recipe.parallel.zero else TORCH
        space = replace(space, shardings=tuple(dict.fromkeys((base.sharding, *family))))
    if is_open("tensor"):
        space = replace(space, tensor=_tensor(base, heads))
    if is_open("offload"):
        space = replace(space, offloads=OFFLOADS)
    every = tuple(dict.fromkeys((base.devices, *devices)))
    return replace(space, devices=every, fixed=tuple(fixed))


def device_choices(offered: Sequence[tuple[str, int, int]]) -> list[Devices]:
    """Powers of two of every (type, GPUs per node, nodes) on offer: parts of a node, one node, several."""
    choices: list[Devices] = []
    for gpu, per_node, nodes in offered:
        choices += [Devices(gpu, count) for count in _powers(per_node)]
        choices += [Devices(gpu, per_node, count) for count in _powers(nodes) if count > 1]
    return list(dict.fromkeys(choices))


def _powers(most: int) -> list[int]:
    sizes = [2**power for power in range(most.bit_length()) if 2**power <= most]
    return sizes if not most or most in sizes else [*sizes, most]


def _optimizers(current: Optimizer) -> tuple[Optimizer, ...]:
    """The same arithmetic with fewer temporaries; other optimizers would be another training."""
    return (current, "adamw-fused") if current in ("adamw", "adamw-forloop") else (current,)


def _tensor(base: Setup, heads: int | None) -> tuple[int, ...]:
    """Tensor-parallel degrees inside a node that divide the heads."""
    current = base.recipe.parallel.tensor
    if heads is None:
        return (current,)
    fitting = [degree for degree in TENSOR if heads % degree == 0]
    return tuple(dict.fromkeys((current, *fitting)))
