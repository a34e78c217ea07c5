"""A Run without GPUs: what its pods need of a node, and what a node's part of that costs.

The step then lives in host memory. A described model tells what it holds: the same tensors as on a GPU, so the same
ledger answers, asked about the largest GPU there is because no other limit applies. How long a step takes on cores
is not modelled, and is said to be unknown. A node is paid for whole; a pod pays for the largest share it takes.
"""

from __future__ import annotations

from msgspec.structs import replace
from msgspec.structs import replace as with_fields

from tonnage.cluster.gpu_facts import facts_of
from tonnage.cluster.gpus import GPU_TYPES
from tonnage.cost.price import Price
from tonnage.cost.splitting import Amounts, split_node
from tonnage.memory.estimate import Estimate
from tonnage.planning.answers import Need
from tonnage.planning.catalogue import Offer
from tonnage.planning.estimating import CannotEstimate
from tonnage.planning.recipes import Incomplete, recipe_of
from tonnage.planning.solver.setup import Devices, Setup
from tonnage.planning.sources import Sources
from tonnage.planning.workload import Unknown, Workload

NEEDS = "RAM, /dev/shm, disk, CPU"


def on_host(
    workload: Workload, sources: Sources
) -> tuple[Setup | None, Estimate | None, tuple[Unknown, ...]]:
    """The step of a Run without GPUs, what it holds where that can be told, and what cannot be and why."""
    if workload.run is None or workload.trainer.gpus.milli:
        return None, None, ()
    largest = max(GPU_TYPES, key=lambda gpu: facts_of(gpu).usable_bytes)
    try:
        setup = _setup(workload, largest.name)
    except Incomplete as reason:
        return None, None, (Unknown(NEEDS, f"{reason}; they follow from it"),)
    unknown = [Unknown("time", "how long a step takes without a GPU is not modelled")]
    estimator = sources.estimator
    estimate = None
    if estimator is None or estimator.mode != "shape":
        why = "it holds its tensors in RAM, and only spec.model.shape tells how many"
        if estimator is None:
            why = sources.why_no_estimate
        unknown.append(Unknown("RAM of the step", why))
    else:
        try:
            estimate = with_fields(estimator.estimate(setup), step_seconds=None)
        except CannotEstimate as reason:
            unknown.append(Unknown("RAM of the step", str(reason)))
    return setup, estimate, tuple(unknown)


def price_of_share(workload: Workload, offer: Offer, needs: tuple[Need, ...]) -> Price | None:
    """What pods without GPUs cost by the hour: the largest share each takes of its node."""
    price = offer.node_price
    if price is None:
        return None
    held = {need.name: need.granted or 0 for need in needs}
    if not held.get("cpu") and not held.get("memory"):
        return None  # a share of nothing costs nothing, which is not so
    node, pod = (
        Amounts(cpu=offer.cpu, memory=offer.memory),
        Amounts(cpu=held.get("cpu", 0), memory=held.get("memory", 0)),
    )

    def of_share(whole: Price) -> Price:
        low, high = (split_node(end, node, [pod]).charges[0] for end in (whole.low, whole.high))
        return replace(whole, low=low, high=max(low, high), among=tuple(map(of_share, whole.among)))

    return of_share(price).times(workload.pods)


def _setup(workload: Workload, gpu: str) -> Setup:
    assert workload.run is not None
    devices = Devices(gpu, 1, max(1, workload.trainer.count))
    return Setup(recipe_of(workload.run, devices), devices)
