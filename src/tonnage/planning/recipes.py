"""A Run's training step as the recipe that memory and time are computed from, and back.

What a document leaves out is filled in only where it follows from the rest (ranks from nodes and GPUs, plain
data parallel over what is left); what does not follow is said to be missing.
"""

from __future__ import annotations

from typing import Literal, cast

from tonnage.memory.recipe import Parallel, Recipe
from tonnage.planning.solver.setup import Devices
from tonnage.spec.run import Run

Stage = Literal[0, 1, 2, 3]


class Incomplete(Exception):  # noqa: N818 - it is an answer, not an accident
    """The document does not say enough about its step; the text says what is missing."""


def recipe_of(run: Run, devices: Devices) -> Recipe:
    """The recipe of each rank on these devices; raise Incomplete where the document does not say enough."""
    train = run.spec.train
    if train.micro_batch is None:
        raise Incomplete("train.microBatch is not said")
    return Recipe(
        micro_batch=train.micro_batch,
        sequence=train.sequence,
        image=train.image_size,
        precision=train.precision,
        optimizer=train.optimizer,
        checkpointing=train.checkpointing,
        attention=train.attention,
        accumulation=train.accumulation,
        lora_rank=train.lora_rank,
        parallel=parallel_of(run, ranks_on(run, devices)),
        offload=train.offload,
    )


def ranks_on(run: Run, devices: Devices) -> int:
    """Training processes on the devices: as said per node, else one for each GPU."""
    return (run.spec.processes_per_node or max(1, devices.per_node)) * devices.nodes


def parallel_of(run: Run, ranks: int) -> Parallel:
    """How the ranks share the work; data parallel over those the document does not speak of."""
    said = run.spec.train.parallel
    tensor, pipeline = said.tensor or 1, said.pipeline or 1
    left, rest = divmod(ranks, tensor * pipeline)
    if rest or left == 0:
        raise Incomplete(f"tensor {tensor} x pipeline {pipeline} does not divide {ranks} ranks")
    fsdp = said.fsdp or 1
    if left % fsdp:
        raise Incomplete(f"fsdp {fsdp} does not divide the {left} ranks that see different samples")
    ddp = left // fsdp
    if said.ddp is not None and said.ddp != ddp:
        raise Incomplete(f"ddp {said.ddp} x fsdp {fsdp} is not the {left} ranks that see different samples")
    zero = cast(Stage, said.zero or 0)
    return Parallel(ddp, fsdp, zero, tensor, pipeline, said.expert or 1)


def samples_per_step(recipe: Recipe) -> int:
    """Samples that one optimizer step sees on all ranks."""
    return recipe.micro_batch * recipe.accumulation * recipe.parallel.data
