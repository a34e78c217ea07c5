"""How ranks share a model: what each one keeps, and what it must hold beside that while it works.

ddp      every rank keeps all; gradients are copied into buckets as large as themselves
fsdp     weights, gradients and state are cut; two blocks are whole at any time (the one at work and the next),
         and the gradients of two
zero 1-3 DeepSpeed: state, then gradients, then weights are cut; buckets of 500 million elements; half-precision
         weights get fp32 masters
tensor   each block is cut inside (`families`); pipeline: each rank keeps some blocks, and the activations of
         as many micro-batches as stages follow it; expert: each rank keeps some experts
"""

from __future__ import annotations

from collections import defaultdict

import msgspec
from msgspec.structs import replace

from tonnage.memory.estimate import Part
from tonnage.memory.recipe import Recipe
from tonnage.memory.shapes.shape import ModelShape

BUCKET = 500_000_000
"""Elements of DeepSpeed's reduce and all-gather buckets by default."""


class Sharing(msgspec.Struct, frozen=True):
    """Ranks that share each kind of state, and bytes held while working."""

    weights: int
    gradients: int
    state: int
    has_masters: bool
    working: tuple[Part, ...]
    """Held from the start of a step to its end."""
    in_flight: int
    """Micro-batches whose activations are held at once."""
    reduces: str = ""
    """The collective that gradients go through."""

    @property
    def working_bytes(self) -> int:
        return sum(part.bytes for part in self.working)


def local_shape(shape: ModelShape, recipe: Recipe) -> ModelShape:
    """The part of the model that one rank runs: the first stage of a pipeline, its share of the experts."""
    parallel = recipe.parallel
    if parallel.pipeline > 1:
        shape = replace(
            shape,
            layers=-(-shape.layers // parallel.pipeline),
            decoder_layers=-(-shape.decoder_layers // parallel.pipeline),
        )
    if parallel.expert > 1:
        shape = replace(shape, experts=shape.experts // parallel.expert)
    return shape


def sharing_of(recipe: Recipe, sizes: dict[str, int], width: int, trained: int) -> Sharing:
    """Who keeps what, for weights of these element counts in `width` bytes, `trained` elements of them trained."""
    parallel = recipe.parallel
    ranks = parallel.data
    if parallel.zero:
        stage = parallel.zero
        working = _deepspeed_buffers(stage, ranks, sizes, width, trained)
        return Sharing(
            ranks if stage >= 3 else 1,
            ranks if stage >= 2 else 1,
            ranks,
            width == 2,
            working,
            _in_flight(recipe),
            "" if ranks == 1 else "reduce_scatter_" if stage >= 2 else "allreduce_",
        )
    shards = parallel.fsdp
    working = _whole_blocks(sizes, width, shards) if shards > 1 or recipe.offload == "all" else ()
    if parallel.ddp > 1 and shards == 1:
        working = (Part("DDP buckets", width * trained, f"{trained:,} gradients x {width} bytes"),)
    reduces = "reduce_scatter_" if shards > 1 else "allreduce_" if parallel.ddp > 1 else ""
    return Sharing(shards, shards, shards, False, working, _in_flight(recipe), reduces)


def _in_flight(recipe: Recipe) -> int:
    stages = recipe.parallel.pipeline
    return min(stages, recipe.accumulation) if stages > 1 else 1


def _largest_block(sizes: dict[str, int]) -> int:
    blocks: dict[str, int] = defaultdict(int)
    for name, size in sizes.items():
        head, _, rest = name.partition(".")
        number = rest.partition(".")[0]
        blocks[f"{head}.{number}" if number.isdigit() else head] += size
    return max(blocks.values(), default=0)


def _whole_blocks(sizes: dict[str, int], width: int, ranks: int) -> tuple[Part, ...]:
    largest = _largest_block(sizes)
    whole = min(2 * largest, sum(sizes.values()))
    said = f"2 blocks x {largest:,} weights x {width} bytes"
    if ranks == 1:
        return (Part("weights at work", width * whole, said),)
    return (
        Part("weights at work", width * whole, said),
        Part("gradients on their way", width * whole, said),
    )


def _deepspeed_buffers(
    stage: int, ranks: int, sizes: dict[str, int], width: int, trained: int
) -> tuple[Part, ...]:
    if ranks == 1 and stage < 3:
        return ()
    bucket = min(trained, BUCKET)
    parts = [Part("reduce bucket", width * bucket, f"{bucket:,} gradients x {width} bytes")]
    if stage < 3:
        parts.append(Part("gather bucket", width * bucket, f"{bucket:,} weights x {width} bytes"))
    else:
        parts += _whole_blocks(sizes, width, 1)
    return tuple(parts)
