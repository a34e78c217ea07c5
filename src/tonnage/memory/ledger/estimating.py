"""From a shape and a recipe to an estimate.

shape, recipe -> a trace on paper -> workspaces and temporaries put in -> the caching allocator -> the smallest
limit that trains -> what lies outside the allocator -> a guard band from measured residuals
"""

from __future__ import annotations

from tonnage.cluster.gpus import GpuType
from tonnage.memory.cap import smallest_cap
from tonnage.memory.device import device_of
from tonnage.memory.estimate import Estimate, Interval
from tonnage.memory.ledger.checking import check_recipe
from tonnage.memory.ledger.explaining import explain
from tonnage.memory.ledger.guarding import guard_for_shape
from tonnage.memory.ledger.stepping import run_steps
from tonnage.memory.outside import outside_parts
from tonnage.memory.program import program_of
from tonnage.memory.recipe import Recipe
from tonnage.memory.repeating import repetition_of
from tonnage.memory.replay import replay
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
    machine = run_steps(shape, recipe)
    trace = machine.tape.trace(gpu.name, 2)
    program = program_of(trace, device_of(gpu, trace.settings))
    repetition = repetition_of(program)
    outcome = replay(program, repetition=repetition)
    cap = smallest_cap(program, outcome.peak_allocated, outcome.peak_reserved, repetition)
    told = explain(program, machine.tape, shape, recipe)
    outside = outside_parts(trace, gpu)
    outside_bytes = sum(part.bytes for part in outside)
    return Estimate(
        mode="shape",
        gpu=gpu.name,
        peak_allocated=told.peak,
        peak_reserved=outcome.peak_reserved,
        smallest_cap=cap.bytes,
        outside_allocator=outside_bytes,
        guard=guard_for_shape(shape, recipe, cap.bytes + outside_bytes),
        parts=told.parts,
        phases=told.phases,
        outside=outside,
        step_seconds=step_seconds,
        notes=told.notes,
        retries=cap.retries,
        peak=told.place,
    )
