"""Which GPU type a run is planned on, and what its step needs there.

A document may name a type, a range of memory, or only a number; a manifest may say nothing but a resource.
Every type that is left is asked, and the one taken is the cheapest on which the step fits and the pods find
nodes. Where none fits, it is the one with most memory: the nearest miss is the most useful to hear about.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from tonnage.cluster.announcing import devices_of, gpu_type_of
from tonnage.cluster.gpu_facts import facts_of
from tonnage.cluster.gpus import GpuType, find_gpu
from tonnage.cluster.snapshot import Snapshot
from tonnage.memory.estimate import Estimate
from tonnage.planning.aiming import aimed_at
from tonnage.planning.answers import GpuMemory
from tonnage.planning.catalogue import Offer, gpu_prices
from tonnage.planning.contradicting import contradiction_in
from tonnage.planning.estimating import CannotEstimate
from tonnage.planning.ground import Ground
from tonnage.planning.placing import place_gang
from tonnage.planning.pods import wanted
from tonnage.planning.recipes import KNOBS, Contradiction, Incomplete, own_of, recipe_of, unsaid_knobs
from tonnage.planning.solver.parts import slice_memory
from tonnage.planning.solver.setup import Devices, Setup
from tonnage.planning.sources import Sources
from tonnage.planning.workload import GpuWish, Workload
from tonnage.planning.workload.naming import a
from tonnage.spec.run import Run

UNSIZED: dict[str, Any] = {"micro_batch": 1}
"""Stands for a batch that only the step knows."""
NOT_TAKEN = "train.microBatch is not said and build() does not take it"


class Candidate(msgspec.Struct, frozen=True):
    """One GPU type the run could be on."""

    gpu: GpuType
    devices: Devices
    setup: Setup | None
    memory: GpuMemory
    own: Mapping[str, Any] = msgspec.field(default_factory=dict)
    """What the traced step decides for itself, by knob."""
    contradiction: Contradiction | None = None
    """What in the document cannot be together."""


def choose(workload: Workload, sources: Sources, ground: Ground | None) -> Candidate | None:
    """The GPU type to plan on: the cheapest that fits and has nodes; else the one with most memory."""
    types = candidate_types(workload, ground.snapshot if ground else None)
    if not workload.trainer.gpus.milli or not types:
        return None
    found = candidates(workload, types, sources)
    prices = gpu_prices(ground.offered) if ground else {}

    def preference(candidate: Candidate) -> tuple[object, ...]:
        fits = candidate.memory.state != "does not fit" and candidate.contradiction is None
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


def candidates(workload: Workload, types: Iterable[GpuType], sources: Sources) -> list[Candidate]:
    """Each type with what the step needs on it."""
    role = workload.trainer
    found = []
    for gpu in types:
        devices = Devices(gpu.name, max(1, role.gpus.count), max(1, role.count))
        found.append(_candidate(workload, gpu, devices, sources))
    return found


def usable_bytes(gpu: GpuType, wish: GpuWish) -> int:
    """What one device of the wish can hold: a whole GPU, or the slice that is asked for."""
    profile = gpu.mig_profile(wish.profile) if wish.profile else None
    return facts_of(gpu).usable_bytes if profile is None else slice_memory(gpu, profile)


def _candidate(workload: Workload, gpu: GpuType, devices: Devices, sources: Sources) -> Candidate:
    """The type with the run's own recipe, and what that needs; there is no recipe where nobody says its batch."""
    usable = usable_bytes(gpu, workload.trainer.gpus)
    run, estimator = workload.run, sources.estimator
    if run is None:
        note = f"{a(workload.kind)} does not say what it trains"
        return Candidate(gpu, devices, None, GpuMemory(gpu.name, usable, None, note))
    setup: Setup | None = None
    estimate: Estimate | None = None
    own: Mapping[str, Any] = {}
    contradiction: Contradiction | None = None
    try:
        own, unsaid = _own(run, devices, sources)
        whole = Setup(recipe_of(run, devices, UNSIZED | own), devices)
        setup = None if unsaid else whole
        note = unsaid if estimator is not None else sources.why_no_estimate
        if estimator is not None and (not unsaid or unsaid == NOT_TAKEN):
            estimate = estimator.estimate(
                whole
            )  # a batch that build() fixes is in the trace, whatever we call it
    except (Incomplete, CannotEstimate) as reason:
        note = str(reason) if estimator is not None else sources.why_no_estimate
        contradiction = reason if isinstance(reason, Contradiction) else None
        if estimator is not None and isinstance(reason, CannotEstimate):
            contradiction = contradiction_in(reason)
    shown = {f"train.{KNOBS[name]}": value for name, value in own.items()}
    return Candidate(
        gpu, devices, setup, GpuMemory(gpu.name, usable, estimate, note, shown), own, contradiction
    )


def _own(run: Run, devices: Devices, sources: Sources) -> tuple[dict[str, Any], str]:
    """What the traced step decides for itself of what the document leaves out; and why no batch is known, if so."""
    is_said = run.spec.train.micro_batch is not None
    if sources.own_of is None or not unsaid_knobs(run):
        return {}, "" if is_said else "train.microBatch is not said"
    try:
        own = own_of(run, sources.own_of(recipe_of(run, devices, UNSIZED), devices))
    except CannotEstimate as reason:
        return {}, "" if is_said else f"train.microBatch is not said, and the step was not traced: {reason}"
    return own, "" if is_said or "micro_batch" in own else NOT_TAKEN


def _types_there(snapshot: Snapshot, wish: GpuWish) -> list[GpuType]:
    names: dict[str, None] = {}
    for node in snapshot.nodes:
        offered = node.status.allocatable
        is_counted = bool(wish.resource) and not wish.is_fraction  # a part may have a name of its own
        has_it = wish.resource in offered if is_counted else bool(devices_of(node))
        if has_it:
            names[gpu_type_of(node)] = None
    return [gpu for name in names if (gpu := find_gpu(name)) is not None]


def _has_nodes(candidate: Candidate, workload: Workload, ground: Ground) -> bool:
    is_cut = any(part.gpu == candidate.gpu.name for part in ground.parts)
    if workload.trainer.gpus.is_fraction and is_cut:
        return True
    role = aimed_at(workload.trainer, candidate.gpu, ground.snapshot.nodes)
    return place_gang([wanted(role)], ground.empty).fits


def _has_large_nodes(candidate: Candidate, offered: Sequence[Offer]) -> bool:
    """Whether any node has as many GPUs of the type as a pod asks for, whatever else keeps the pod away."""
    return any(
        offer.gpu == candidate.gpu.name and offer.per_node >= candidate.devices.per_node for offer in offered
    )
