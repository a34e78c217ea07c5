"""How long a described step takes: the step on paper, timed like a traced one.

The paper step holds at most two micro-batches, because more would only repeat the second; each further one costs
what the second cost. A pipeline idles while it fills and drains: (stages - 1) micro-batches' worth per step.
"""

from __future__ import annotations

import math
from dataclasses import replace

from tonnage.cluster.gpus import GpuType
from tonnage.memory.estimate import Interval
from tonnage.memory.ledger import shape_trace
from tonnage.memory.recipe import Recipe
from tonnage.memory.shapes import ModelShape
from tonnage.timing.collective import Interconnect
from tonnage.timing.step import step_time

WIDER = 0.10
"""Added to the logarithmic half-width: the user's own code differs from the library's."""


def shape_step_time(
    shape: ModelShape, recipe: Recipe, gpu: GpuType, *, interconnect: Interconnect | None = None
) -> Interval:
    """Seconds of one steady step of a described model, with their 80 % interval."""
    taken = step_time(shape_trace(shape, recipe, gpu.name), gpu, interconnect=interconnect)
    middle = taken.p50
    if recipe.accumulation > 2:
        single = shape_trace(shape, replace(recipe, accumulation=1), gpu.name)
        one = step_time(single, gpu, interconnect=interconnect).p50
        middle += (recipe.accumulation - 2) * (middle - one)
    middle *= 1 + (recipe.parallel.pipeline - 1) / recipe.accumulation
    wide = math.exp(WIDER) * middle / taken.p50
    return Interval(taken.p10 * middle / taken.p50 / math.exp(WIDER), middle, taken.p90 * wide)
