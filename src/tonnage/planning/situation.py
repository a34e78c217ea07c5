"""A plan before its verdict, with what it takes to try changes: the knobs that may be turned, and the scales."""

from __future__ import annotations

import msgspec

from tonnage.planning.answers import Plan
from tonnage.planning.catalogue import gpu_prices
from tonnage.planning.choosing import Candidate
from tonnage.planning.ground import Ground
from tonnage.planning.placing import Wanted
from tonnage.planning.solver.opening import device_choices, open_space
from tonnage.planning.solver.setup import Setup
from tonnage.planning.solver.space import Space
from tonnage.planning.sources import Sources
from tonnage.planning.weighing import Care, Scales


class Situation(msgspec.Struct, frozen=True, kw_only=True):
    """A plan before its verdict, with what is needed to try changes."""

    plan: Plan
    sources: Sources
    ground: Ground | None
    chosen: Candidate | None
    roles: tuple[Wanted, ...]
    missing_claims: tuple[str, ...] = ()


def space_of(
    situation: Situation, *, allow: frozenset[str] = frozenset(), others: bool = True
) -> Space | None:
    """The knobs that may be turned for this plan, and with `others` the devices on offer."""
    chosen, sources, ground = situation.chosen, situation.sources, situation.ground
    if chosen is None or chosen.setup is None or sources.estimator is None:
        return None
    devices = []
    if others and ground is not None:
        offered = [(offer.gpu, offer.per_node, offer.nodes) for offer in ground.offered]
        devices = device_choices(offered)
    return open_space(
        chosen.setup,
        knobs=sources.estimator.knobs,
        heads=sources.heads,
        uses_deepspeed=situation.plan.workload.framework == "deepspeed",
        may_change_precision="precision" in allow,
        devices=devices,
    )


def scales_of(situation: Situation, *, care: Care = "where it decides") -> Scales:
    """What setups are weighed with on this ground."""
    ground, sources = situation.ground, situation.sources
    assert sources.estimator is not None
    workload = situation.plan.workload

    def host_need(setup: Setup) -> int | None:
        figures = sources.figures_of(workload, setup, None)
        memory = figures.figures.get("memory")
        return memory.amount if memory else None

    longest = None
    if workload.deadline_seconds and workload.steps:
        longest = workload.deadline_seconds / workload.steps
    return Scales(
        sources.estimator,
        offered=ground.offered if ground else None,
        prices=gpu_prices(ground.offered) if ground else {},
        host_need=host_need,
        longest_step=longest,
        care=care,
    )
