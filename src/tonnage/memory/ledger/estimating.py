"""From a shape and a recipe to an estimate.

shape, recipe -> a trace on paper -> workspaces and temporaries put in -> the caching allocator -> the smallest
limit that trains -> what lies outside the allocator -> a guard band from measured residuals
"""

from __future__ import annotations

from tonnage.cluster.gpus import GpuType
from tonnage.memory.device import device_of
from tonnage.memory.estimate import Estimate, Interval
from tonnage.memory.ledger.allocating import through_allocator
from tonnage.memory.ledger.checking import check_recipe
from tonnage.memory.ledger.explaining import explain
from tonnage.memory.ledger.guarding import guard_for_shape
from tonnage.memory.ledger.stepping import remembered_run, trace_of
from tonnage.memory.outside import outside_parts
from tonnage.memory.program import program_of
from tonnage.memory.recipe import Recipe
from tonnage.memory.shapes.shape import ModelShape


def shape_estimate(
    shape: ModelShape,
    recipe: Recipe,
    gpu: GpuType,
    *,
    step_seconds: Interval | None = None,
    where: str | None = None,
) -> Estimate:
    """What one step of this model needs of one such GPU; raise ShapeError where the combination is impossible."""
    check_recipe(shape, recipe, where)
    run = remembered_run(shape, recipe)
    trace = trace_of(run, recipe, gpu.name)
    program = program_of(trace, device_of(gpu, trace.settings))
    held = through_allocator(program)
    told = explain(program, run, recipe)
    outside = outside_parts(trace, gpu)
    outside_bytes = sum(part.bytes for part in outside)
    return Estimate(
        mode="shape",
        gpu=gpu.name,
        peak_allocated=told.peak,
        peak_reserved=held.peak_reserved,
        smallest_cap=held.smallest_cap,
        outside_allocator=outside_bytes,
        guard=guard_for_shape(
            shape,
            recipe,
            expected=held.smallest_cap + outside_bytes,
            unpressed=held.peak_reserved + outside_bytes,
        ),
        parts=told.parts,
        phases=told.phases,
        largest=told.largest,
        outside=outside,
        step_seconds=step_seconds,
        notes=told.notes,
        retries=held.retries,
        peak=told.place,
    )
