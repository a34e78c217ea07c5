"""Which GPU type a run is planned on, and what its step needs there.

A document may name a type, a range of memory, or only a number; a manifest may say nothing but a resource.
Every type that is left is asked, and the one taken is the cheapest on which the step fits and the pods find
nodes. Where none fits, it is the one with most memory: the nearest miss is the most useful to hear about.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tonnage.cluster.announcing import devices_of, gpu_type_of
from tonnage.cluster.gpu_facts import facts_of
from tonnage.cluster.gpus import GpuType, find_gpu
from tonnage.cluster.snapshot import Snapshot
from tonnage.memory.estimate import Estimate
from tonnage.planning.answers import GpuMemory
from tonnage.planning.estimating import CannotEstimate, StepEstimator
from tonnage.planning.recipes import Incomplete, recipe_of
from tonnage.planning.solver.parts import slice_memory
from tonnage.planning.solver.setup import Devices, Setup
from tonnage.planning.workload import GpuWish, Workload


@dataclass(frozen=True, slots=True)
class Candidate:
    """One GPU type the run could be on."""

    gpu: GpuType
    devices: Devices
    setup: Setup | None
    memory: GpuMemory


def candidate_types(workload: Workload, snapshot: Snapshot | None) -> list[GpuType]:
    """The GPU types that would do: those named, among those there are; else whatever the nodes have."""
    wish = workload.trainer.gpus
    named = [gpu for name in wish.types if (gpu := find_gpu(name)) is not None]
    if snapshot is None or snapshot.gap("nodes") is not None:
        return named
    there = _types_there(snapshot, wish)
    if not named:
        return there
    both = [gpu for gpu in named if gpu in there]
    return both or named


def candidates(
    workload: Workload, types: Iterable[GpuType], estimator: StepEstimator | None, why_not: str
) -> list[Candidate]:
    """Each type with what the step needs on it."""
    role = workload.trainer
    found = []
    for gpu in types:
        devices = Devices(gpu.name, max(1, role.gpus.count), max(1, role.count))
        found.append(_candidate(workload, gpu, devices, estimator, why_not))
    return found


def usable_bytes(gpu: GpuType, wish: GpuWish) -> int:
    """What one device of the wish can hold: a whole GPU, or the slice that is asked for."""
    profile = gpu.mig_profile(wish.profile) if wish.profile else None
    return facts_of(gpu).usable_bytes if profile is None else slice_memory(gpu, profile)


def setup_of(workload: Workload, devices: Devices) -> Setup:
    """The run's own recipe on these devices; raise Incomplete."""
    if workload.run is None:
        raise Incomplete(f"a {workload.kind} does not say what it trains")
    return Setup(recipe_of(workload.run, devices), devices)


def _candidate(
    workload: Workload, gpu: GpuType, devices: Devices, estimator: StepEstimator | None, why_not: str
) -> Candidate:
    usable = usable_bytes(gpu, workload.trainer.gpus)
    setup: Setup | None = None
    estimate: Estimate | None = None
    note = why_not
    try:
        setup = setup_of(workload, devices)
        if estimator is not None:
            estimate, note = estimator.estimate(setup), ""
    except (Incomplete, CannotEstimate) as reason:
        note = str(reason) if estimator is not None or workload.run is None else why_not
    return Candidate(gpu, devices, setup, GpuMemory(gpu.name, usable, estimate, note))


def _types_there(snapshot: Snapshot, wish: GpuWish) -> list[GpuType]:
    names: dict[str, None] = {}
    for node in snapshot.nodes:
        offered = node.status.allocatable
        has_it = wish.resource in offered if wish.resource else bool(devices_of(node))
        if has_it:
            names[gpu_type_of(node)] = None
    return [gpu for name in names if (gpu := find_gpu(name)) is not None]
