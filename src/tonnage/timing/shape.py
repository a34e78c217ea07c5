"""How long a described step takes: the step on paper, timed like a traced one.

The paper step holds at most two micro-batches, because more would only repeat the second; each further one costs
what the second cost. In the same way a deep model is timed at two small depths, and each further layer costs what
the difference says. A pipeline idles while it fills and drains: (stages - 1) micro-batches' worth per step.
What is kept in host memory comes and goes over PCIe (`offloading.py`), beside what the step on paper shows.
"""

from __future__ import annotations

import math
from functools import lru_cache

from msgspec.structs import replace

from tonnage.cluster.gpus import GpuType, find_gpu
from tonnage.memory.estimate import Interval
from tonnage.memory.ledger import shape_trace
from tonnage.memory.recipe import Recipe
from tonnage.memory.shapes import ModelShape
from tonnage.timing.collective import Interconnect
from tonnage.timing.offloading import with_offloading
from tonnage.timing.step import step_time

WIDER = 0.10
"""Added to the logarithmic half-width: the user's own code differs from the library's."""
DEPTHS = (2, 4)
"""Layers per pipeline stage at which deep models are timed."""
DEEP = 6
"""Fewer layers than this are timed as they are."""


def shape_step_time(
    shape: ModelShape, recipe: Recipe, gpu: GpuType, *, interconnect: Interconnect | None = None
) -> Interval:
    """Seconds of one steady step of a described model, with their 80 % interval."""
    where = interconnect or Interconnect()
    single = _seconds(shape, replace(recipe, accumulation=1), gpu, where)
    middle = single.p50
    if recipe.accumulation > 1:
        double = _seconds(shape, replace(recipe, accumulation=2), gpu, where)
        middle += (recipe.accumulation - 1) * max(0.0, double.p50 - single.p50)
    middle *= 1 + (recipe.parallel.pipeline - 1) / recipe.accumulation
    wide = math.exp(WIDER)
    low, high = single.p10 / single.p50 / wide, single.p90 / single.p50 * wide
    computed = Interval(low * middle, middle, high * middle)
    return computed if recipe.offload == "none" else with_offloading(computed, shape, recipe, gpu)


def _seconds(shape: ModelShape, recipe: Recipe, gpu: GpuType, where: Interconnect) -> Interval:
    """One step, by straight lines over depth where the model is deep."""
    stages = recipe.parallel.pipeline
    layers = -(-shape.layers // stages)
    if layers <= DEEP or shape.decoder_layers not in (0, shape.layers):
        return _timed(shape, recipe, gpu.name, where)
    shallow, deep = (_timed(_cut(shape, depth * stages), recipe, gpu.name, where) for depth in DEPTHS)
    slope = (layers - DEPTHS[0]) / (DEPTHS[1] - DEPTHS[0])
    middle = shallow.p50 + slope * (deep.p50 - shallow.p50)
    return Interval(deep.p10 / deep.p50 * middle, middle, deep.p90 / deep.p50 * middle)


def _cut(shape: ModelShape, layers: int) -> ModelShape:
    return replace(shape, layers=layers, decoder_layers=layers if shape.decoder_layers else 0)


@lru_cache(maxsize=1024)
def _timed(shape: ModelShape, recipe: Recipe, gpu_name: str, where: Interconnect) -> Interval:
    gpu = find_gpu(gpu_name)
    assert gpu is not None
    return step_time(shape_trace(shape, recipe, gpu_name), gpu, interconnect=where)
