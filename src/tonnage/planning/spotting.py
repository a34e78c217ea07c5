"""Whether capacity that can be taken back pays for this run: cheaper by the hour, but longer.

A gang is interrupted as often as it has nodes; each time it loses what was not saved, and starts again. Spot pays
where its price, times by how much longer everything takes, is below the other price. How often nodes are taken back
and how long a start takes are assumed, and told as such; both prices must be known.
"""

from __future__ import annotations

from collections.abc import Iterable

from tonnage.cluster.announcing import gpu_type_of, is_usable
from tonnage.cluster.objects import Node
from tonnage.cost.parts import gpu_price
from tonnage.cost.pricing import is_spot
from tonnage.cost.saving import slowdown, spot_pays
from tonnage.planning.answers import Placement, Spot
from tonnage.planning.catalogue import PriceOf, whole_gpus
from tonnage.planning.ground import Ground
from tonnage.planning.risking import best_interval_seconds, mean_hours_between_failures
from tonnage.planning.workload import SpotUse

RESTART_SECONDS = 12 * 60.0
"""From a node taken back to training again: a new node, its image, the checkpoint."""


def spot_for(
    gpu: str, gpus: int, nodes: int, *, save_seconds: float, there: Iterable[Node], price_of: PriceOf
) -> Spot | None:
    """What spot nodes of this GPU type would cost and take; None where one of the prices is not known."""
    rates: dict[bool, int] = {}
    for node in there:
        count = whole_gpus(node)
        price = price_of(node) if count and is_usable(node) and gpu_type_of(node) == gpu else None
        each = gpu_price(price, count) if price is not None else None
        if each is not None:
            kind = is_spot(node)
            rates[kind] = min(rates.get(kind, each.low), each.low)
    if len(rates) < 2:
        return None
    times = {kind: _times(nodes, save_seconds, is_spot=kind) for kind in (True, False)}
    longer = times[True] / times[False]
    return Spot(
        per_hour=rates[True] * gpus,
        on_demand_per_hour=rates[False] * gpus,
        slower=longer,
        pays=spot_pays(rates[True], rates[False], longer),
    )


def may_be_on_spot(use: SpotUse, placement: Placement | None, ground: Ground | None) -> bool:
    """Whether pods that bear being taken back may be: not where no node that would take them is of that kind."""
    if use not in ("allowed", "only"):
        return False
    if use == "only" or placement is None or ground is None or not ground.sees("nodes"):
        return True
    taking = set(placement.empty.feasible)
    return any(
        is_spot(node) and (not taking or node.metadata.name in taking) for node in ground.snapshot.nodes
    )


def _times(nodes: int, save_seconds: float, *, is_spot: bool) -> float:
    """How many times as long it takes as a run that nothing interrupts."""
    mean = mean_hours_between_failures(nodes, is_spot=is_spot) * 3600
    every = best_interval_seconds(save_seconds, mean)
    return slowdown(every, save_seconds, RESTART_SECONDS, mean)
