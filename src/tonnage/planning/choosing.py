"""Which GPU type a run is planned on, and what its step needs there.

A document may name a type, a range of memory, or only a number; a manifest may say nothing but a resource.
Every type that is left is asked, and the one taken is the cheapest on which the step fits and the pods find
nodes. Where none fits, it is the one with most memory: the nearest miss is the most useful to hear about.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tonnage.cluster.announcing import devices_of, gpu_type_of
from tonnage.cluster.gpu_facts import facts_of
from tonnage.cluster.gpus import GpuType, find_gpu
from tonnage.cluster.snapshot import Snapshot
from tonnage.memory.estimate import Estimate
from tonnage.planning.aiming import aimed_at
from tonnage.planning.answers import GpuMemory
from tonnage.planning.catalogue import Offer, gpu_prices
from tonnage.planning.estimating import CannotEstimate, StepEstimator
from tonnage.planning.ground import Ground
from tonnage.planning.placing import place_gang
from tonnage.planning.pods import wanted
from tonnage.planning.recipes import Incomplete, recipe_of
from tonnage.planning.solver.parts import slice_memory
from tonnage.planning.solver.setup import Devices, Setup
from tonnage.planning.sources import Sources
from tonnage.planning.workload import GpuWish, Workload
from tonnage.planning.workload.naming import a


@dataclass(frozen=True, slots=True)
class Candidate:
    """One GPU type the run could be on."""

    gpu: GpuType
    devices: Devices
    setup: Setup | None
    memory: GpuMemory


def choose(workload: Workload, sources: Sources, ground: Ground | None) -> Candidate | None:
    """The GPU type to plan on: the cheapest that fits and has nodes; else the one with most memory."""
    types = candidate_types(workload, ground.snapshot if ground else None)
    if not workload.trainer.gpus.milli or not types:
        return None
    found = candidates(workload, types, sources.estimator, sources.why_no_estimate)
    prices = gpu_prices(ground.offered) if ground else {}

    def preference(candidate: Candidate) -> tuple[object, ...]:
        fits = candidate.memory.state != "does not fit"
        has_nodes = ground is None or _has_nodes(candidate, workload, ground)
        is_large = ground is None or _has_large_nodes(candidate, ground.offered)
        price = prices.get(candidate.gpu.name)
        size = candidate.memory.usable or 0
        return (
            not fits,
            not has_nodes,
            not is_large,
            price is None,
            price.low if price and fits else 0,
            -size,
        )

    return min(found, key=preference)


def offer_for(chosen: Candidate, offered: Sequence[Offer]) -> Offer | None:
    """The nodes of the chosen type: those with the GPUs asked for, the smallest such."""
    same = [offer for offer in offered if offer.gpu == chosen.gpu.name]
    large = [offer for offer in same if offer.per_node >= chosen.devices.per_node]
    if large:
        return min(large, key=lambda offer: offer.per_node)
    return max(same, key=lambda offer: offer.per_node, default=None)


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
        raise Incomplete(f"{a(workload.kind)} does not say what it trains")
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


def _has_nodes(candidate: Candidate, workload: Workload, ground: Ground) -> bool:
    role = aimed_at(workload.trainer, candidate.gpu, ground.snapshot.nodes)
    return place_gang([wanted(role)], ground.empty).fits


def _has_large_nodes(candidate: Candidate, offered: Sequence[Offer]) -> bool:
    """Whether any node has as many GPUs of the type as a pod asks for, whatever else keeps the pod away."""
    return any(
        offer.gpu == candidate.gpu.name and offer.per_node >= candidate.devices.per_node for offer in offered
    )
