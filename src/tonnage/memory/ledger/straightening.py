"""A rough answer in microseconds: straight lines through four small steps.

What a step holds is, moment by moment, a straight line in the number of layers and in the micro-batch. So four
small steps (two depths, two batches) are worked out in full once and remembered, and every other depth and batch
of the same recipe is read off between them. What ranks hold for one another is no such line (two whole blocks, the
largest of which may be an embedding; one bucket): it is reckoned for the model itself. A solver asks this way; the
answer it chooses is worked out in full.

How the allocator's luck falls out is no straight line: it is taken from the family instead, as the middle of what
the measured steps showed between allocated memory and the smallest limit.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from msgspec.structs import replace

from tonnage.cluster.gpus import GpuType, find_gpu
from tonnage.memory.estimate import Estimate, Part, PhasePeak
from tonnage.memory.ledger.guarding import guard_for_shape
from tonnage.memory.ledger.stepping import working_bytes
from tonnage.memory.recipe import Recipe
from tonnage.memory.shapes.shape import ModelShape

DEPTHS = (2, 4)
"""Layers per pipeline stage of the small steps; even, because selective checkpointing takes every second block."""
BATCHES = (2, 6)

FRAGMENTED = {
    "gpt2": 0.06, "gpt_neox": 0.06, "opt": 0.06, "llama": 0.10, "mixtral": 0.07, "bert": 0.10, "t5": 0.02,
    "vit": 0.05, "convnet": 0.02,
}  # fmt: skip
"""Share of allocated memory by which the smallest limit lies above it, by family.

GPT-NeoX and OPT were not measured often enough: theirs come from full replays (four Pythias, two OPTs; three number
formats, micro-batches 1 to 16), whose shares have a median of 0.04 and 0.06 and a mean of 0.06 and 0.09, GPT-2's own
0.05 and 0.06.
"""
PACKED = 0.01
"""The same where the optimizer's step is the peak: whole lists of tensors leave few holes."""

SHARING = "sharing"
"""The part that ranks hold for one another."""

Full = Callable[[ModelShape, Recipe, GpuType], Estimate]
Weights = tuple[float, float, float, float]


def straight_estimate(shape: ModelShape, recipe: Recipe, gpu: GpuType, full: Full) -> Estimate:
    """The estimate by straight lines; `full` works the peaks of a small step out."""
    corners = _corners(
        replace(shape, layers=0, decoder_layers=0),
        bool(shape.decoder_layers),
        bool(shape.layers),
        replace(recipe, micro_batch=1, accumulation=min(recipe.accumulation, 2)),
        gpu.name,
        full,
    )
    phases = _phases(corners, _weights(shape, recipe), working_bytes(shape, recipe))
    highest = max(phases, key=lambda phase: phase.peak_allocated)
    allocated = highest.peak_allocated
    holes = PACKED if highest.name == "optimizer" else FRAGMENTED[shape.family]
    cap, reserved = int(allocated * (1 + holes)), int(allocated * (1 + 1.5 * holes))
    outside = corners[-1].outside_allocator
    guard = guard_for_shape(shape, recipe, expected=cap + outside, unpressed=reserved + outside)
    return replace(
        corners[-1],
        peak_allocated=allocated,
        peak_reserved=reserved,
        smallest_cap=cap,
        guard=guard,
        parts=tuple(
            Part(part.name, part.bytes, "by straight lines through small steps") for part in highest.parts
        ),
        phases=phases,
        on_host=_on_host(corners, _weights(shape, recipe)),
        largest=(),
        peak=None,
        notes=(*corners[-1].notes, "a rough answer by straight lines through small steps of the same recipe"),
    )


@lru_cache(maxsize=256)
def _corners(
    shape: ModelShape, has_decoder: bool, has_layers: bool, recipe: Recipe, gpu_name: str, full: Full
) -> tuple[Estimate, ...]:
    gpu = find_gpu(gpu_name)
    assert gpu is not None
    found = []
    for depth in DEPTHS if has_layers else DEPTHS[:1]:
        layers = depth * recipe.parallel.pipeline if has_layers else 0
        small = replace(shape, layers=layers, decoder_layers=layers if has_decoder else 0)
        found += [full(small, replace(recipe, micro_batch=batch), gpu) for batch in BATCHES]
    return tuple(found if has_layers else found * 2)


def _weights(shape: ModelShape, recipe: Recipe) -> Weights:
    """How much of each corner: (shallow, few), (shallow, many), (deep, few), (deep, many)."""
    layers = -(-shape.layers // recipe.parallel.pipeline)
    deep = (layers - DEPTHS[0]) / (DEPTHS[1] - DEPTHS[0]) if shape.layers else 0.0
    many = (recipe.micro_batch - BATCHES[0]) / (BATCHES[1] - BATCHES[0])
    return (1 - deep) * (1 - many), (1 - deep) * many, deep * (1 - many), deep * many


def _mix(values: list[int], weights: Weights) -> int:
    return max(0, round(sum(value * weight for value, weight in zip(values, weights, strict=True))))


def _on_host(corners: tuple[Estimate, ...], weights: Weights) -> tuple[Part, ...]:
    held = [{part.name: part.bytes for part in corner.on_host} for corner in corners]
    return tuple(Part(name, _mix([one.get(name, 0) for one in held], weights)) for name in held[-1])


def _phases(corners: tuple[Estimate, ...], weights: Weights, shared: int) -> tuple[PhasePeak, ...]:
    by_name = [{phase.name: phase for phase in corner.phases} for corner in corners]
    phases = []
    for name in by_name[0]:
        if not all(name in one for one in by_name):
            continue
        held = [{part.name: part.bytes for part in one[name].parts} for one in by_name]
        parts = [
            Part(part, size)
            for part in dict.fromkeys(key for one in held for key in one)
            if (size := shared if part == SHARING else _mix([one.get(part, 0) for one in held], weights))
        ]
        phases.append(PhasePeak(name, sum(part.bytes for part in parts), tuple(parts)))
    return tuple(phases)
