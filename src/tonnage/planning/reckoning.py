"""Time, money and what can be lost, worked out together: each needs the one before.

saving   how often, from what a save takes and how long the whole run lasts
time     the step, the steps, the saves, and waiting for data
money    the hours at the price of what is held
risk     what a death costs between two saves
"""

from __future__ import annotations

from msgspec.structs import replace

from tonnage.cost.price import Price
from tonnage.planning.answers import Cost, Need, Pace, Risk
from tonnage.planning.catalogue import Offer
from tonnage.planning.choosing import Candidate
from tonnage.planning.hosting import price_of_share
from tonnage.planning.lasting import cost_of, pace_of
from tonnage.planning.protecting import risk_of
from tonnage.planning.recipes import samples_per_step
from tonnage.planning.risking import CheckpointPlan, plan_checkpoints, save_seconds
from tonnage.planning.sources import PodFigures
from tonnage.planning.spending import budget_of
from tonnage.planning.waiting import idle_share, loader_allows, paced, waits_of
from tonnage.planning.walls import NamespaceAnswer
from tonnage.planning.workload import Workload

DEFAULT_GRACE = 30
"""Seconds Kubernetes gives a pod to stop, where the pod does not say."""


def time_and_money(
    workload: Workload,
    chosen: Candidate | None,
    offer: Offer | None,
    figures: PodFigures,
    needs: tuple[Need, ...],
    answer: NamespaceAnswer,
    *,
    is_spot: bool,
) -> tuple[Pace, Cost, Risk]:
    """Time, money and risk; `is_spot` says whether nodes that can be taken back may hold the pods."""
    setup = chosen.setup if chosen else None
    recipe = setup.recipe if setup else None
    estimate = chosen.memory.estimate if chosen else None
    step = estimate.step_seconds if estimate else None
    price = _price(workload, offer, needs)
    waits = waits_of(workload, recipe, step, figures=figures, price=price)
    lasts = paced(step, waits).p50 * workload.steps if step is not None and workload.steps else None
    saving = _saving(workload, figures, is_spot, lasts)
    pace = pace_of(
        step,
        steps=workload.steps,
        samples=samples_per_step(recipe) if recipe else None,
        sequence=recipe.sequence if recipe else None,
        deadline=workload.deadline_seconds,
        saving=saving,
        waits=waits,
    )
    pace = replace(
        pace,
        loader_seconds=loader_allows(workload, recipe, step),
        idle_share=idle_share(step, pace.paced) if _is_sample_known(workload) else None,
    )
    budget, budget_text = budget_of(workload)
    cost = cost_of(
        price,
        pace,
        gpus=workload.gpus,
        why_no_price="no price is known for these nodes" if offer else "no nodes to look up a price for",
        budget=budget,
        budget_text=budget_text,
    )
    risk = risk_of(
        workload,
        checkpoints=saving,
        checkpoint_bytes=figures.checkpoint_bytes,
        pace=pace,
        cost=cost,
        qos=answer.qos,
        nodes=workload.pods,
        is_spot=is_spot,
    )
    return pace, cost, risk


def _is_sample_known(workload: Workload) -> bool:
    return workload.run is not None and workload.run.spec.train.loader.sample_seconds is not None


def _saving(
    workload: Workload, figures: PodFigures, is_spot: bool, lasts: float | None
) -> CheckpointPlan | None:
    target = workload.checkpoints
    if target is None:
        return None
    size = figures.checkpoint_bytes
    is_ours = workload.run is not None
    given = target.grace_seconds
    if given is None and not is_ours:
        said = workload.trainer.pod.spec.termination_grace_period_seconds
        given = DEFAULT_GRACE if said is None else said
    return plan_checkpoints(
        every_seconds=target.every_seconds,
        saving=None if size is None else save_seconds(size, workload.pods, is_sharded=figures.is_sharded),
        nodes=workload.pods,
        is_spot=is_spot,
        lasts=lasts,
        grace_seconds=given,
        grace_is_ours=is_ours,
    )


def _price(workload: Workload, offer: Offer | None, needs: tuple[Need, ...]) -> Price | None:
    """The hourly price of all GPUs held, each its part of a node; without GPUs, of the share of a node."""
    if offer is not None and not workload.gpus:
        return price_of_share(workload, offer, needs)
    if offer is None or offer.gpu_price is None:
        return None
    return offer.gpu_price.times(workload.gpus)
