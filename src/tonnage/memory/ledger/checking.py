"""Combinations of model and recipe that no run can have, said before anything is computed."""

from __future__ import annotations

import math

from tonnage.cluster.gpus import GpuType
from tonnage.errors import Problem
from tonnage.memory.ledger.attention_kernels import AMPERE
from tonnage.memory.ledger.families.program import ACTIVATIONS
from tonnage.memory.recipe import Recipe
from tonnage.memory.shapes.images import smallest_image
from tonnage.memory.shapes.shape import ModelShape, ShapeError


def check_recipe(
    shape: ModelShape, recipe: Recipe, gpu: GpuType | None = None, where: str | None = None
) -> None:
    """Raise ShapeError with every contradiction between the two, and with the GPU where one is named."""
    problems = [
        *_inputs(shape, recipe),
        *_attention(shape, recipe, gpu),
        *_adapters(shape, recipe),
        *_ranks(shape, recipe),
    ]
    if problems:
        raise ShapeError(
            *(
                Problem(code=code, what=what, where=where, found=found, hint=hint)
                for code, what, found, hint in problems
            )
        )


MOST_TOKENS = 2**32
"""Of one micro-batch: far above what any GPU can hold."""
MOST_PAIRS = 2**58
"""Of positions that attention compares, over all heads and blocks: beyond it, sizes in bytes leave 64 bits."""
MOST_LAYERS = 4096
"""A step is worked out block by block; beyond this it would take minutes."""

FIXED_GRID = frozenset({"maxvit_t"})
"""Networks whose windows are laid out for one size of image when they are built."""

ROBERTA_OFFSET = 2
"""Its first positions are never used: they begin after the padding token's."""

Complaint = tuple[str, str, str | None, str | None]


def _inputs(shape: ModelShape, recipe: Recipe) -> list[Complaint]:
    found: list[Complaint] = []
    if recipe.micro_batch < 1:
        found.append(("SHAPE-020", "a micro-batch has at least one sample", str(recipe.micro_batch), None))
    if recipe.accumulation < 1:
        found.append(("SHAPE-021", "a step has at least one micro-batch", str(recipe.accumulation), None))
    tokens = recipe.micro_batch * max(recipe.sequence or 0, (recipe.image or 0) ** 2, 1)
    if tokens > MOST_TOKENS:
        found.append(
            ("SHAPE-027", "no GPU holds such a micro-batch", f"{tokens:,} tokens or pixels",
             f"at most {MOST_TOKENS:,} are estimated")
        )  # fmt: skip
    pairs = recipe.micro_batch * (recipe.sequence or 0) ** 2 * shape.heads * shape.layers
    if pairs > MOST_PAIRS and tokens <= MOST_TOKENS:
        found.append(
            ("SHAPE-027", "no GPU holds such a micro-batch", f"{pairs:,} pairs of positions that attention compares",
             f"at most {MOST_PAIRS:,} are estimated: fewer samples, or a shorter --seq")
        )  # fmt: skip
    if shape.layers > MOST_LAYERS:
        found.append(
            ("SHAPE-028", "no model that is known has so many blocks", f"{shape.layers:,} blocks",
             f"at most {MOST_LAYERS:,} are estimated")
        )  # fmt: skip
    if shape.family != "convnet" and shape.activation not in ACTIVATIONS:
        found.append(
            ("SHAPE-037", f"we have no formulas for this activation of {shape.name}", shape.activation,
             "trace the step itself (--step FILE.py:build), which needs no formulas")
        )  # fmt: skip
    if shape.is_language_model:
        if recipe.sequence is None:
            found.append(
                ("SHAPE-022", f"{shape.name} reads text: the sequence length is missing", None,
                 "give --seq, or train.sequence in the document")
            )  # fmt: skip
        if recipe.image is not None:
            found.append(
                ("SHAPE-025", f"{shape.name} reads text, not images", f"image {recipe.image}",
                 "drop --image")
            )  # fmt: skip
        longest = shape.positions - (ROBERTA_OFFSET if shape.architecture == "roberta" else 0)
        if recipe.sequence is not None and 0 < longest < recipe.sequence:
            found.append(
                ("SHAPE-023", f"{shape.name} has {longest} positions",
                 f"sequence {recipe.sequence}", f"at most --seq {longest}")
            )  # fmt: skip
    elif recipe.sequence is not None:
        found.append(
            ("SHAPE-024", f"{shape.name} reads images, not text", f"sequence {recipe.sequence}",
             "give --image instead of --seq")
        )  # fmt: skip
    elif shape.family == "convnet" and recipe.checkpointing != "none":
        found.append(
            ("SHAPE-031", "torchvision's networks have no activation checkpointing", shape.name,
             "trace your own step (--step FILE.py:build) if it recomputes")
        )  # fmt: skip
    elif shape.architecture in FIXED_GRID and recipe.image not in (None, shape.image):
        found.append(
            ("SHAPE-026", f"{shape.name} is built for images of {shape.image} pixels",
             f"image {recipe.image}", "drop --image")
        )  # fmt: skip
    elif shape.patch and (recipe.image or shape.image) % shape.patch:
        found.append(
            ("SHAPE-026", f"{shape.name} cuts images into patches of {shape.patch} pixels",
             f"image {recipe.image or shape.image}", f"a multiple of {shape.patch}, like {shape.patch * 14}")
        )  # fmt: skip
    elif shape.family == "convnet" and (recipe.image or shape.image) < smallest_image(shape.architecture):
        found.append(
            ("SHAPE-026", f"{shape.name} leaves nothing of so small an image", f"image {recipe.image}",
             f"at least --image {smallest_image(shape.architecture)}")
        )  # fmt: skip
    return found


def _attention(shape: ModelShape, recipe: Recipe, gpu: GpuType | None) -> list[Complaint]:
    """The flash-attention package has kernels for half precision on Ampere and later, and nothing else."""
    if recipe.attention != "flash" or shape.family == "convnet":
        return []
    found: list[Complaint] = []
    if recipe.precision == "fp32":
        found.append(
            ("SHAPE-038", "flash attention works in half precision", "precision fp32",
             "amp-bf16 instead of fp32, or --attention sdpa, which takes the kernel that there is")
        )  # fmt: skip
    if gpu is not None and gpu.compute < AMPERE:
        major, minor = gpu.compute
        found.append(
            ("SHAPE-039", f"flash attention has no kernel for {gpu.name}",
             f"compute capability {major}.{minor}, of {AMPERE[0]}.{AMPERE[1]} at least",
             "--attention sdpa, which takes the kernel that there is")
        )  # fmt: skip
    return found


def _adapters(shape: ModelShape, recipe: Recipe) -> list[Complaint]:
    if recipe.lora_rank is None:
        return []
    if shape.family == "convnet":
        return [
            ("SHAPE-030", "LoRA adapters go on attention projections; a convnet has none", shape.name,
             "drop --lora-rank")
        ]  # fmt: skip
    if recipe.lora_rank < 1:
        return [("SHAPE-029", "a LoRA rank is at least 1", str(recipe.lora_rank), None)]
    return []


def _ranks(shape: ModelShape, recipe: Recipe) -> list[Complaint]:
    found: list[Complaint] = []
    parallel = recipe.parallel
    if parallel.tensor > 1:
        if shape.family in ("convnet", "vit"):
            found.append(
                (
                    "SHAPE-032",
                    f"tensor parallel is not offered for {shape.family}",
                    shape.name,
                    "share its states instead: fsdp or zero1 to zero3",
                )
            )
        elif shape.heads % parallel.tensor or (shape.intermediate and shape.intermediate % parallel.tensor):
            found.append(
                ("SHAPE-033", "tensor parallel ranks must divide the heads and the feed-forward width",
                 f"{parallel.tensor} ranks, {shape.heads} heads, width {shape.intermediate}",
                 "the largest that does is " + str(_largest_share(parallel.tensor, shape)))
            )  # fmt: skip
    if parallel.pipeline > 1 and shape.family == "convnet":
        found.append(
            ("SHAPE-034", "a pipeline is not offered for convnet", shape.name,
             "share its states instead: fsdp or zero1 to zero3")
        )  # fmt: skip
    elif parallel.pipeline > max(1, shape.layers):
        found.append(
            ("SHAPE-034", "a pipeline has no more stages than the model has blocks",
             f"{parallel.pipeline} stages, {shape.layers} blocks", f"at most pipeline:{shape.layers}")
        )  # fmt: skip
    if parallel.expert > 1:
        if not shape.experts:
            found.append(
                (
                    "SHAPE-036",
                    "expert parallel needs a mixture of experts",
                    shape.name,
                    "drop expert from --parallel",
                )
            )
        elif shape.experts % parallel.expert:
            found.append(
                ("SHAPE-035", "expert parallel ranks must divide the experts",
                 f"{parallel.expert} ranks, {shape.experts} experts", None)
            )  # fmt: skip
    return found


def _largest_share(asked: int, shape: ModelShape) -> int:
    """The most tensor parallel ranks up to those asked for that divide heads and width."""
    both = math.gcd(shape.heads, shape.intermediate or shape.heads)
    return max(ranks for ranks in range(1, min(asked, both) + 1) if both % ranks == 0)
