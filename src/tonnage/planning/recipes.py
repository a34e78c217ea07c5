"""A Run's training step as the recipe that memory and time are computed from, and back.

What a document leaves out is filled in only where it follows from the rest (ranks from nodes and GPUs, plain
data parallel over what is left), or where the step that is traced decides it for itself; what neither tells is said
to be missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal, cast, get_args

from tonnage.memory.recipe import Checkpointing, Parallel, Precision, Recipe
from tonnage.planning.solver.setup import Devices
from tonnage.spec.run import Run

Stage = Literal[0, 1, 2, 3]


class Incomplete(Exception):  # noqa: N818 - it is an answer, not an accident
    """The document does not say enough about its step; the text says what is missing."""


class Contradiction(Incomplete):
    """The document says things that cannot be together; `field` and `value` would mend it, where one line would.

    `mend` says in words what would, where no single value follows.
    """

    def __init__(self, text: str, field: str = "", value: int | None = None, mend: str = "") -> None:
        super().__init__(text)
        self.field, self.value, self.mend = field, value, mend


KNOBS: Mapping[str, str] = MappingProxyType(
    {
        "micro_batch": "microBatch",
        "accumulation": "accumulation",
        "checkpointing": "checkpointing",
        "precision": "precision",
        "sequence": "sequence",
    }
)
"""What a step's build() may take, and the field of `train` that says it."""
NOTHING: Mapping[str, Any] = MappingProxyType({})


def recipe_of(run: Run, devices: Devices, own: Mapping[str, Any] = NOTHING) -> Recipe:
    """The recipe of each rank on these devices; raise Incomplete where nobody says enough.

    `own` holds what the step's build() itself uses: it decides what the document leaves out.
    """
    train = run.spec.train
    own = own_of(run, own)
    micro_batch = own.get("micro_batch", train.micro_batch)
    if micro_batch is None:
        raise Incomplete("train.microBatch is not said")
    return Recipe(
        micro_batch=micro_batch,
        sequence=own.get("sequence", train.sequence),
        image=train.image_size,
        precision=own.get("precision", train.precision),
        optimizer=train.optimizer,
        checkpointing=own.get("checkpointing", train.checkpointing),
        attention=train.attention,
        accumulation=own.get("accumulation", train.accumulation),
        lora_rank=train.lora_rank,
        parallel=parallel_of(run, ranks_on(run, devices)),
        offload=train.offload,
    )


def unsaid_knobs(run: Run) -> frozenset[str]:
    """What a step's build() may decide, because the document does not."""
    return frozenset(KNOBS) - run.spec.train.model_fields_set


def own_of(run: Run, own: Mapping[str, Any]) -> dict[str, Any]:
    """What build() itself uses of the knobs the document leaves out, as far as it has a meaning here."""
    unsaid = unsaid_knobs(run)
    return {name: value for name, value in own.items() if name in unsaid and is_value_of(name, value)}


def is_value_of(knob: str, value: object) -> bool:
    """Whether a knob can have this value: a build() may keep another kind of thing under the same name."""
    if knob == "precision":
        return value in get_args(Precision)
    if knob == "checkpointing":
        return value in get_args(Checkpointing)
    return knob in KNOBS and isinstance(value, int) and not isinstance(value, bool) and value >= 1


def ranks_on(run: Run, devices: Devices) -> int:
    """Training processes on the devices: as said per node, else one for each GPU."""
    return (run.spec.processes_per_node or max(1, devices.per_node)) * devices.nodes


def parallel_of(run: Run, ranks: int) -> Parallel:
    """How the ranks share the work; data parallel over those the document does not speak of."""
    said = run.spec.train.parallel
    tensor, pipeline = said.tensor or 1, said.pipeline or 1
    left, rest = divmod(ranks, tensor * pipeline)
    if rest or left == 0:
        raise Contradiction(f"tensor {tensor} x pipeline {pipeline} does not divide {ranks} ranks")
    fsdp = said.fsdp or 1
    if left % fsdp:
        nearest = max(size for size in range(1, min(fsdp, left) + 1) if left % size == 0)
        raise Contradiction(
            f"fsdp {fsdp} does not divide the {left} ranks that see different samples",
            "train.parallel.fsdp",
            nearest,
        )
    ddp = left // fsdp
    if said.ddp is not None and said.ddp != ddp:
        raise Contradiction(
            f"ddp {said.ddp} x fsdp {fsdp} is not the {left} ranks that see different samples",
            "train.parallel.ddp",
            ddp,
        )
    zero = cast(Stage, said.zero or 0)
    return Parallel(ddp, fsdp, zero, tensor, pipeline, said.expert or 1)


def samples_per_step(recipe: Recipe) -> int:
    """Samples that one optimizer step sees on all ranks."""
    return recipe.micro_batch * recipe.accumulation * recipe.parallel.data
