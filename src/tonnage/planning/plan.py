"""Make a plan: every question asked once, in an order that lets each answer serve the next.

    the GPU type     decides what fits and what it costs
    the pod's needs  fill in what was left to us
    the namespace    may change or refuse the pods
    the nodes        take them, now or empty
    time and money   follow from the step and the nodes
    what can be lost follows from time, money and where checkpoints go
    the verdict      is what is left standing in the way, with the smallest change for each

Pure: a document, a snapshot and the sources in, one value out.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import replace

from msgspec.structs import replace as with_fields

from tonnage.cluster.gpus import GpuType
from tonnage.cluster.snapshot import Snapshot
from tonnage.cost.price import Price
from tonnage.planning.answers import (
    Cost,
    EffectiveValue,
    GpuMemory,
    Need,
    Pace,
    Placement,
    Plan,
    Risk,
    Verdict,
)
from tonnage.planning.catalogue import Offer, gpu_prices
from tonnage.planning.choosing import Candidate, candidate_types, candidates
from tonnage.planning.effects import effective_pod, effective_run
from tonnage.planning.estimating import Remembered
from tonnage.planning.ground import Ground
from tonnage.planning.lasting import cost_of, pace_of
from tonnage.planning.locating import locate
from tonnage.planning.needing import amounts_to_fill, needs_of
from tonnage.planning.obstacles import obstacles_of
from tonnage.planning.placing import Wanted, place_gang
from tonnage.planning.pods import aimed_at, claims_of, wanted, with_amounts, with_image, without_claims
from tonnage.planning.protecting import risk_of
from tonnage.planning.queues import ask_queue
from tonnage.planning.recipes import samples_per_step
from tonnage.planning.risking import CheckpointPlan, plan_checkpoints, save_seconds
from tonnage.planning.shares import Share, Stranding, strandings
from tonnage.planning.situation import Situation
from tonnage.planning.solver.parts import OnOffer, PartAnswer, part_answers, part_answers_on
from tonnage.planning.sources import PodFigures, Sources
from tonnage.planning.spending import budget_of
from tonnage.planning.verdict import verdict_of
from tonnage.planning.walls import NamespaceAnswer, Wall, ask_namespace
from tonnage.planning.warning import warnings_about
from tonnage.planning.workload import Role, Workload
from tonnage.planning.workload.reading import with_claims
from tonnage.units import format_bytes

CLAIMS = "persistentvolumeclaims"
DEFAULT_GRACE = 30
"""Seconds Kubernetes gives a pod to stop, where the pod does not say."""


def make_plan(
    workload: Workload, sources: Sources, *, snapshot: Snapshot | None = None, against: str = ""
) -> Plan:
    """The plan of one workload on a cluster, or on nothing but the GPU it names."""
    return decided(look_at(workload, sources, snapshot=snapshot, against=against))


def decided(situation: Situation) -> Plan:
    """The plan of a situation with its verdict."""
    verdict, options = verdict_of(obstacles_of(situation))
    return replace(situation.plan, verdict=verdict, options=options)


def look_at(
    workload: Workload,
    sources: Sources,
    *,
    snapshot: Snapshot | None = None,
    against: str = "",
    notes: Sequence[str] = (),
) -> Situation:
    """Everything a plan says but its verdict, with what it takes to try changes."""
    if sources.estimator is not None and not isinstance(sources.estimator, Remembered):
        sources = replace(sources, estimator=Remembered(sources.estimator))
    ground = None if snapshot is None else Ground.of(snapshot, sources.price_of)
    workload = workload if snapshot is None else with_claims(workload, snapshot)
    workload, missing_claims = _without_unseen_claims(workload, ground)
    chosen = _choose(workload, sources, ground)
    offer = None if ground is None or chosen is None else _offer_for(chosen, ground.offered)
    figures = sources.figures_of(
        workload, chosen.setup if chosen else None, chosen.memory.estimate if chosen else None
    )
    needs = needs_of(workload.trainer, figures, offer, leaves_shm_to_us=workload.run is not None)
    filled = _filled(workload, needs, chosen, ground)
    answer = _ask_walls(filled, ground)
    pace, cost, risk = _time_and_money(filled, chosen, offer, figures, answer)
    stranding = _stranding(filled.trainer, needs, offer)
    plan = Plan(
        workload=workload,
        verdict=Verdict("fits"),
        devices=chosen.devices if chosen else None,
        memory=chosen.memory if chosen else _no_memory(workload),
        needs=needs,
        placement=None if ground is None else _locate(answer, chosen, ground),
        stranding=stranding,
        stranded_rate=_stranded_rate(stranding, offer),
        walls=answer.walls,
        pace=pace,
        cost=cost,
        risk=risk,
        parts=_parts(workload, chosen, ground),
        effective=_effective(filled, answer, needs, risk),
        unknown=(*workload.unknown, *(ground.unseen() if ground else ())),
        warnings=(*notes, *workload.remarks, *figures.warnings, *warnings_about(pace, cost, filled)),
        base=chosen.setup if chosen else None,
        against=against,
    )
    return Situation(
        plan=plan,
        sources=sources,
        ground=ground,
        chosen=chosen,
        roles=answer.roles,
        missing_claims=missing_claims,
    )


def _choose(workload: Workload, sources: Sources, ground: Ground | None) -> Candidate | None:
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


def _has_nodes(candidate: Candidate, workload: Workload, ground: Ground) -> bool:
    role = aimed_at(workload.trainer, candidate.gpu)
    return place_gang([wanted(role)], ground.empty).fits


def _has_large_nodes(candidate: Candidate, offered: Sequence[Offer]) -> bool:
    """Whether any node has as many GPUs of the type as a pod asks for, whatever else keeps the pod away."""
    return any(
        offer.gpu == candidate.gpu.name and offer.per_node >= candidate.devices.per_node for offer in offered
    )


def _offer_for(chosen: Candidate, offered: Sequence[Offer]) -> Offer | None:
    """The nodes of the chosen type: those with the GPUs asked for, the smallest such."""
    same = [offer for offer in offered if offer.gpu == chosen.gpu.name]
    large = [offer for offer in same if offer.per_node >= chosen.devices.per_node]
    if large:
        return min(large, key=lambda offer: offer.per_node)
    return max(same, key=lambda offer: offer.per_node, default=None)


def _filled(
    workload: Workload, needs: tuple[Need, ...], chosen: Candidate | None, ground: Ground | None
) -> Workload:
    """The workload with what was left to us written in, aimed at the chosen GPU type where we may."""
    trainer = workload.trainer
    several = ground is not None and len({offer.gpu for offer in ground.offered}) > 1
    roles = []
    for role in workload.roles:
        if role is trainer:
            is_ours = workload.run is not None
            full = with_image(with_amounts(role, amounts_to_fill(needs))) if is_ours else role
            aims = chosen is not None and several and workload.run is not None
            roles.append(aimed_at(full, chosen.gpu) if aims and chosen else full)
        else:
            roles.append(role)
    return workload.with_roles(*sorted(roles, key=lambda role: -role.gpus.milli * role.count))


def _ask_walls(workload: Workload, ground: Ground | None) -> NamespaceAnswer:
    roles = [wanted(role) for role in workload.roles]
    if ground is None:
        empty = Snapshot(taken_at=_NEVER, source="")
        return ask_namespace([_unranked(role) for role in roles], workload.namespace, empty)
    snapshot = ground.snapshot
    if not snapshot.priority_classes:
        roles = [_unranked(role) for role in roles]
    answer = ask_namespace(roles, workload.namespace, snapshot)
    queue: Wall | None = ask_queue(workload.queue, workload.namespace, answer.roles, snapshot)
    return replace(answer, walls=(*answer.walls, queue)) if queue is not None else answer


def _locate(answer: NamespaceAnswer, chosen: Candidate | None, ground: Ground) -> Placement:
    estimate = chosen.memory.estimate if chosen else None
    return locate(
        answer.roles,
        ground.view,
        ground.empty,
        required=estimate.required if estimate else None,
        sees_all=ground.sees_all_pods,
    )


def _time_and_money(
    workload: Workload,
    chosen: Candidate | None,
    offer: Offer | None,
    figures: PodFigures,
    answer: NamespaceAnswer,
) -> tuple[Pace, Cost, Risk]:
    is_spot = workload.spot in ("allowed", "only")
    saving = _saving(workload, figures, is_spot)
    setup = chosen.setup if chosen else None
    estimate = chosen.memory.estimate if chosen else None
    pace = pace_of(
        estimate.step_seconds if estimate else None,
        steps=workload.steps,
        samples=samples_per_step(setup.recipe) if setup else None,
        sequence=setup.recipe.sequence if setup else None,
        deadline=workload.deadline_seconds,
        saving=saving,
        loader_workers=_loader_workers(workload),
    )
    price = _price(workload, offer)
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


def _loader_workers(workload: Workload) -> int:
    """Processes that load data, of all ranks together."""
    each = workload.run.spec.train.loader.workers if workload.run is not None else 0
    return each * (workload.ranks or 0)


def _saving(workload: Workload, figures: PodFigures, is_spot: bool) -> CheckpointPlan | None:
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
        grace_seconds=given,
        grace_is_ours=is_ours,
    )


def _price(workload: Workload, offer: Offer | None) -> Price | None:
    """The hourly price of all GPUs held, each its part of a node."""
    if offer is None or offer.gpu_price is None:
        return None
    return offer.gpu_price.times(workload.gpus)


def _stranding(role: Role, needs: tuple[Need, ...], offer: Offer | None) -> Stranding | None:
    if offer is None or not role.gpus.count:
        return None
    together = -(-role.count // max(1, offer.nodes))
    pods = max(1, min(offer.per_node // role.gpus.count, together))
    taken: dict[str, tuple[int, int]] = {
        need.name: (need.granted * pods, need.there)
        for need in needs
        if need.name != "shm" and need.granted is not None and need.there
    }
    nodes = -(-role.count // pods)
    return strandings(Share("GPUs", role.gpus.count * pods, offer.per_node), taken, nodes=nodes)


def _stranded_rate(stranding: Stranding | None, offer: Offer | None) -> int | None:
    if stranding is None or not stranding.stranded or offer is None or offer.gpu_price is None:
        return None
    return offer.gpu_price.low * stranding.stranded_in_all


def _parts(workload: Workload, chosen: Candidate | None, ground: Ground | None) -> tuple[PartAnswer, ...]:
    """Answers to a wish for part of a GPU."""
    wish = workload.trainer.gpus
    if not wish.is_fraction or chosen is None:
        return ()
    estimate = chosen.memory.estimate
    required = estimate.required if estimate else None
    types = candidate_types(workload, ground.snapshot if ground else None)
    if ground is None:
        return tuple(part_answers(required, wish.milli, types))
    return tuple(part_answers_on(required, wish.milli, [_on_offer(gpu, ground) for gpu in types]))


def _on_offer(gpu: GpuType, ground: Ground) -> OnOffer:
    prices = gpu_prices(ground.offered)
    whole = sum(offer.nodes for offer in ground.offered if offer.gpu == gpu.name)
    parts = tuple(
        (offer.part, offer.nodes, offer.price.low if offer.price else None)
        for offer in ground.parts
        if offer.gpu == gpu.name
    )
    return OnOffer(gpu, whole, prices[gpu.name].low if gpu.name in prices else None, parts)


def _effective(
    workload: Workload, answer: NamespaceAnswer, needs: tuple[Need, ...], risk: Risk
) -> tuple[EffectiveValue, ...]:
    if workload.run is None:
        pairs = zip(workload.roles, answer.roles, strict=True)
        return tuple(
            value for role, stored in pairs for value in effective_pod(role.name, role.pod, stored.pod)
        )
    worked_out: dict[str, str] = {
        need.name: f"{need.granted / 1000:g}" if need.name == "cpu" else format_bytes(need.granted)
        for need in needs
        if need.asked is None and need.granted is not None
    }
    saving = risk.checkpoints
    if saving is not None:
        worked_out["checkpoints.every"] = f"{saving.interval_seconds / 60:.0f}m"
        if saving.grace_seconds is not None:
            worked_out["checkpoints.grace"] = f"{saving.grace_seconds}s"
    return effective_run(workload.run, worked_out)


def _without_unseen_claims(workload: Workload, ground: Ground | None) -> tuple[Workload, tuple[str, ...]]:
    """The workload without volumes nobody could see; and the claims that are known not to be there."""
    claims = claims_of(workload)
    if ground is None or not ground.sees(CLAIMS):
        return without_claims(workload, claims), ()
    there = {
        claim.metadata.name
        for claim in ground.snapshot.claims
        if claim.metadata.namespace == workload.namespace
    }
    missing = claims - there
    return without_claims(workload, missing), tuple(sorted(missing))


def _no_memory(workload: Workload) -> GpuMemory:
    if not workload.trainer.gpus.milli:
        return GpuMemory("", None, None, "no GPU is asked for")
    return GpuMemory("", None, None, "no GPU type is named, and there are no nodes to look at")


def _unranked(role: Wanted) -> Wanted:
    """Without its priority class, where the classes could not be seen: whether it exists is not known."""
    pod = role.pod
    spec = with_fields(pod.spec, priority_class_name="")
    return Wanted(role.name, with_fields(pod, spec=spec), role.count)


_NEVER = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
