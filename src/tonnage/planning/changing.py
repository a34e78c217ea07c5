"""What to change, in the words of the document: fields and values a person can type, with what comes of each."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tonnage.planning.answers import Change, Edit
from tonnage.planning.solver.fixing import Fix
from tonnage.planning.solver.knobs import Knob
from tonnage.planning.solver.setup import Devices, Setup
from tonnage.units import format_bytes

MEMORY = "GPU memory"
_FIELDS: dict[Knob, tuple[str, ...]] = {
    "micro_batch": ("train.microBatch",),
    "checkpointing": ("train.checkpointing",),
    "precision": ("train.precision",),
    "optimizer": ("train.optimizer",),
    "offload": ("train.offload",),
    "sharding": ("train.parallel",),
    "tensor": ("train.parallel",),
    "devices": ("nodes", "gpus"),
}
"""The lines of the document that a knob is; others that change with it only follow."""


def change_for(fix: Fix) -> Change:
    """A fix as the edit that makes it."""
    edits = edits_between(fix.base.setup, fix.outcome.setup)
    own = [edit for edit in edits if edit[0] in _FIELDS[fix.knob]]
    field, value = own[0] if own else ("", None)
    line = knob_text(fix.knob, fix.base.setup, fix.outcome.setup)
    # other ranks see other samples: without what follows from the knob, the global batch would change
    follows = [edit for edit in edits if edit not in own and not _is_told(edit[0], fix.knob)]
    required, usable = fix.outcome.room.required, fix.outcome.room.usable
    of = f" of {gib(usable)}" if usable != fix.base.room.usable else ""
    return Change(
        what=", ".join((line, *(f"{name}: {inline(one)}" for name, one in follows))),
        effect=f"{gib(required)}{of}{time_text(fix.slower)}",
        field=field,
        value=value,
        why="the step does not fit the GPU",
        answers=MEMORY,
        edits=as_edits(edits),
    )


def as_edits(pairs: Iterable[tuple[str, Any]]) -> tuple[Edit, ...]:
    """Fields with their new values, as a change carries them."""
    return tuple(Edit(field, value) for field, value in pairs)


def things_in(change: Change) -> int:
    """How many things a person changes: the micro-batch and how often it is accumulated are one decision."""
    fields = {edit.field for edit in change.edits}
    if {"train.microBatch", "train.accumulation"} <= fields:
        fields.discard("train.accumulation")
    return max(1, len(fields))


def edits_between(base: Setup, chosen: Setup) -> list[tuple[str, Any]]:
    """The document's fields that differ, with their new values."""
    old, new = base.recipe, chosen.recipe
    edits: list[tuple[str, Any]] = []
    for field, before, after in (
        ("train.checkpointing", old.checkpointing, new.checkpointing),
        ("train.microBatch", old.micro_batch, new.micro_batch),
        ("train.accumulation", old.accumulation, new.accumulation),
        ("train.precision", old.precision, new.precision),
        ("train.optimizer", old.optimizer, new.optimizer),
        ("train.offload", old.offload, new.offload),
    ):
        if before != after:
            edits.append((field, after))
    if old.parallel != new.parallel:
        edits.append(("train.parallel", parallel_document(chosen)))
    edits += _device_edits(base.devices, chosen.devices)
    return edits


def parallel_document(setup: Setup) -> dict[str, int]:
    """`train.parallel` as the document says it: only what is not one."""
    parallel = setup.recipe.parallel
    said = {
        "ddp": parallel.ddp, "fsdp": parallel.fsdp, "tensor": parallel.tensor, "pipeline": parallel.pipeline,
        "expert": parallel.expert,
    }  # fmt: skip
    document = {name: degree for name, degree in said.items() if degree > 1}
    return document | ({"zero": parallel.zero} if parallel.zero else {})


def knob_text(knob: Knob, base: Setup, chosen: Setup) -> str:
    """One turned knob as the line of the document it is."""
    recipe = chosen.recipe
    if knob == "micro_batch":
        return f"train.microBatch: {recipe.micro_batch} (accumulate {recipe.accumulation})"
    if knob in ("checkpointing", "precision", "optimizer", "offload"):
        return f"train.{knob}: {getattr(recipe, knob)}"
    if knob in ("sharding", "tensor"):
        inside = ", ".join(f"{name}: {value}" for name, value in parallel_document(chosen).items())
        return f"train.parallel: {{{inside}}}"
    return ", ".join(f"{field}: {value}" for field, value in _device_edits(base.devices, chosen.devices))


def knob_meaning(knob: Knob, chosen: Setup) -> str:
    """What a turned knob does, for a sentence."""
    recipe, devices = chosen.recipe, chosen.devices
    meanings: dict[Knob, str] = {
        "micro_batch": f"a micro-batch of {recipe.micro_batch}, {_accumulated(recipe.accumulation)},",
        "checkpointing": {
            "none": "keeping all activations",
            "selective": "selective activation checkpointing",
            "full": "full activation checkpointing",
        }[recipe.checkpointing],
        "precision": f"training in {recipe.precision}",
        "optimizer": "a fused optimizer",
        "sharding": _SHARDING[chosen.sharding],
        "tensor": f"splitting each layer over {recipe.parallel.tensor} GPUs",
        "offload": "keeping the optimizer in host RAM"
        if recipe.offload == "optimizer"
        else "keeping weights and optimizer in host RAM"
        if recipe.offload == "all"
        else "keeping everything on the GPU",
        "devices": str(devices),
    }
    return meanings[knob]


_SHARDING = {
    "ddp": "a whole copy on every rank",
    "fsdp": "sharding weights, gradients and optimizer over all ranks",
    "hsdp": "sharding inside each node, copies between nodes",
    "zero1": "sharding the optimizer (ZeRO 1)",
    "zero2": "sharding optimizer and gradients (ZeRO 2)",
    "zero3": "sharding weights, gradients and optimizer (ZeRO 3)",
}


def time_text(slower: float | None) -> str:
    """`, +27 % time`; nothing where it is not known."""
    if slower is None:
        return ""
    percent = round(slower * 100)
    return ", same time" if percent == 0 else f", {percent:+d} % time"


def gib(count: int) -> str:
    """Bytes of GPU memory as people compare them."""
    return f"{count / 2**30:,.1f} GiB" if count >= 2**30 else format_bytes(count)


def _device_edits(base: Devices, chosen: Devices) -> list[tuple[str, Any]]:
    edits: list[tuple[str, Any]] = []
    if base.nodes != chosen.nodes:
        edits.append(("nodes", chosen.nodes))
    if (base.per_node, base.gpu) != (chosen.per_node, chosen.gpu):
        edits.append(("gpus", f"{chosen.per_node} x {chosen.gpu}"))
    return edits


def _is_told(field: str, knob: Knob) -> bool:
    """Whether the knob's own line tells this edit already."""
    return knob == "micro_batch" and field == "train.accumulation"


def inline(value: object) -> str:
    """A value as it is written on one line of a document."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name}: {one}" for name, one in value.items()) + "}"
    return str(value)


def _accumulated(times: int) -> str:
    return "not accumulated" if times == 1 else f"accumulated {times} times"
