"""From a shape and a recipe to an estimate.

shape, recipe -> a trace on paper -> workspaces and temporaries put in -> the caching allocator -> the smallest
limit that trains -> what lies outside the allocator -> a guard band from measured residuals
"""

from __future__ import annotations

from functools import lru_cache

from msgspec.structs import replace

from tonnage.cluster.gpu_facts import facts_of
from tonnage.cluster.gpus import GpuType
from tonnage.memory.device import device_of
from tonnage.memory.estimate import Estimate, Guard, Interval, Part
from tonnage.memory.ledger.allocating import Passage
from tonnage.memory.ledger.attention_kernels import AttentionKernels
from tonnage.memory.ledger.checking import check_recipe
from tonnage.memory.ledger.explaining import Told, explain
from tonnage.memory.ledger.guarding import MIB, guard_for_shape
from tonnage.memory.ledger.hosting import host_parts
from tonnage.memory.ledger.stepping import remembered_run, trace_of
from tonnage.memory.ledger.straightening import straight_estimate
from tonnage.memory.outside import outside_parts
from tonnage.memory.program import Program, program_of
from tonnage.memory.recipe import Recipe
from tonnage.memory.repeating import with_steady_step
from tonnage.memory.shapes.shape import ModelShape


def shape_estimate(
    shape: ModelShape,
    recipe: Recipe,
    gpu: GpuType,
    *,
    step_seconds: Interval | None = None,
    where: str | None = None,
    quick: bool = False,
) -> Estimate:
    """What one step of this model needs of one such GPU; raise ShapeError where the combination is impossible.

    `quick` reads the answer off straight lines through small steps: rough, but many thousand in a second.
    """
    check_recipe(shape, recipe, gpu, where)
    if quick:
        return replace(straight_estimate(shape, recipe, gpu, _unallocated), step_seconds=step_seconds)
    return replace(_in_full(shape, recipe, gpu), step_seconds=step_seconds)


def shape_peaks(shape: ModelShape, recipe: Recipe, gpu: GpuType) -> Estimate:
    """The same without the allocator: peaks as allocated, and `required` no higher than in the full answer.

    The full answer to the same question is built on this one, so asking both costs little more than one.
    """
    check_recipe(shape, recipe, gpu)
    found = _unallocated(shape, recipe, gpu)
    guard = guard_for_shape(shape, recipe, expected=found.expected, unpressed=found.expected)
    return replace(found, guard=replace(guard, bytes=guard.bytes - MIB))


def shape_floor(shape: ModelShape, recipe: Recipe, like: Estimate) -> int:
    """Bytes below which `required` cannot lie, from a step that differs in its optimizer alone and keeps no more state.

    Forward and backward hold no less than there; only the optimizer's own step can be smaller.
    """
    held = max(phase.peak_allocated for phase in like.phases if phase.name in ("forward", "backward"))
    expected = held + like.outside_allocator
    return expected + guard_for_shape(shape, recipe, expected=expected, unpressed=expected).bytes - MIB


def shape_least(shape: ModelShape, recipe: Recipe, gpu: GpuType) -> int:
    """Bytes below which `required` of the full answer cannot lie, from the run without a limit alone.

    No limit below its allocated peak trains, the guard grows with what is expected and covers what is reserved;
    it is rounded up to whole MiB, which can make up for one at most.
    """
    check_recipe(shape, recipe, gpu)
    program, told, on_host = _worked_out(shape, recipe, gpu)
    free = _passage(shape, recipe, gpu).freely()
    outside = _told(program, told, gpu, on_host).outside_allocator
    expected = free.peak_allocated + outside
    guard = guard_for_shape(shape, recipe, expected=expected, unpressed=free.peak_reserved + outside)
    return expected + guard.bytes - MIB


def _in_full(shape: ModelShape, recipe: Recipe, gpu: GpuType) -> Estimate:
    program, told, on_host = _worked_out(shape, recipe, gpu)
    held = _passage(shape, recipe, gpu).in_full()
    found = _told(program, told, gpu, on_host)
    outside = found.outside_allocator
    return replace(
        found,
        peak_reserved=held.peak_reserved,
        smallest_cap=held.smallest_cap,
        retries=held.retries,
        guard=guard_for_shape(
            shape, recipe, expected=held.smallest_cap + outside, unpressed=held.peak_reserved + outside
        ),
    )


def _unallocated(shape: ModelShape, recipe: Recipe, gpu: GpuType) -> Estimate:
    """Peaks alone, without the allocator and without a guard."""
    program, told, on_host = _worked_out(shape, recipe, gpu)
    return _told(program, told, gpu, on_host)


@lru_cache(maxsize=4)
def _worked_out(shape: ModelShape, recipe: Recipe, gpu: GpuType) -> tuple[Program, Told, tuple[Part, ...]]:
    run = remembered_run(shape, recipe, AttentionKernels.of(gpu.compute, recipe.attention))
    trace = trace_of(run, recipe, gpu.name, steps=1)
    program = with_steady_step(program_of(trace, device_of(gpu, trace.settings)))
    return program, explain(program, run, recipe), host_parts(run, recipe)


@lru_cache(maxsize=4)
def _passage(shape: ModelShape, recipe: Recipe, gpu: GpuType) -> Passage:
    """The step's way through the allocator, so that a bound and the full answer play its first run once."""
    program, _, _ = _worked_out(shape, recipe, gpu)
    is_half = recipe.precision in ("bf16", "fp16")
    return Passage(program, half_weights=is_half, device_bytes=facts_of(gpu).usable_bytes)


def _told(program: Program, told: Told, gpu: GpuType, on_host: tuple[Part, ...]) -> Estimate:
    outside = outside_parts(program.trace, gpu)
    return Estimate(
        mode="shape",
        gpu=gpu.name,
        peak_allocated=told.peak,
        peak_reserved=told.peak,
        smallest_cap=told.peak,
        outside_allocator=sum(part.bytes for part in outside),
        guard=Guard(0, ""),
        parts=told.parts,
        phases=told.phases,
        largest=told.largest,
        outside=outside,
        on_host=on_host,
        notes=told.notes,
        peak=told.place,
    )
