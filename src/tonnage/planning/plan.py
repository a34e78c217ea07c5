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

from collections.abc import Sequence

from msgspec.structs import replace
from msgspec.structs import replace as with_fields

from tonnage.cluster.snapshot import Snapshot
from tonnage.planning.admitting import ask_walls
from tonnage.planning.aiming import aimed_at, with_real_labels
from tonnage.planning.answers import GpuMemory, Need, Placement, Plan, Risk, Spot, Verdict
from tonnage.planning.assuming import assumed_for
from tonnage.planning.catalogue import Offer, gpu_prices, host_offer, offer_of_part, offers, open_to
from tonnage.planning.choosing import Candidate, choose, offer_for
from tonnage.planning.claiming import without_unseen_claims
from tonnage.planning.effects import effective_of
from tonnage.planning.estimating import Remembered
from tonnage.planning.ground import Ground
from tonnage.planning.hosting import NEEDS, on_host
from tonnage.planning.locating import locate
from tonnage.planning.needing import amounts_to_fill, needs_of
from tonnage.planning.obstacles import obstacles_of
from tonnage.planning.part_wishes import parts_for
from tonnage.planning.parting import kind_of, on_part, part_of_choice, placed_on_part
from tonnage.planning.pods import PRODUCT_LABEL, with_amounts, with_image
from tonnage.planning.reckoning import time_and_money
from tonnage.planning.risking import SMALLEST_GRACE
from tonnage.planning.situation import Situation
from tonnage.planning.solver.parts import PartAnswer
from tonnage.planning.sources import Sources
from tonnage.planning.spotting import may_be_on_spot, spot_for
from tonnage.planning.stranding import stranded_rate, stranding_of
from tonnage.planning.verdict import verdict_of
from tonnage.planning.walls import NamespaceAnswer
from tonnage.planning.warning import warnings_about
from tonnage.planning.workload import SpotUse, Unknown, Workload
from tonnage.planning.workload.beside import applied
from tonnage.planning.workload.reading import with_claims


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
    if snapshot is not None and workload.beside is not None:
        snapshot = applied(snapshot, workload.beside.in_namespace(workload.namespace))
    ground = None
    if snapshot is not None:
        whole = _whole_only(workload)
        ground = Ground.of(snapshot, sources.price_of, for_whole=whole, spot=workload.spot)
    if snapshot is not None:
        workload = with_real_labels(workload, snapshot.nodes)
    workload = with_claims(workload, snapshot)
    workload, missing_claims = without_unseen_claims(workload, ground)
    chosen = choose(workload, sources, ground)
    parts = parts_for(workload, chosen, ground)
    part = part_of_choice(parts, workload, chosen)
    if part is not None and chosen is not None:
        chosen = on_part(chosen, part, workload, sources)
    offer = None if ground is None or chosen is None else _offer_to(chosen, ground, sources)
    if ground is not None and part is not None and _is_cut(part):
        there = open_to(ground.snapshot.nodes, workload.spot)
        offer = offer_of_part(part.gpu, kind_of(part), part.price, there, sources.price_of)
    setup, estimate, unsaid = on_host(workload, sources)
    if chosen is not None:
        setup, estimate = chosen.setup, chosen.memory.estimate
    elif ground is not None and not workload.trainer.gpus.milli:
        offer = host_offer(open_to(ground.snapshot.nodes, workload.spot), sources.price_of)
    figures = sources.figures_of(workload, setup, estimate)
    if setup is None and workload.run is not None and workload.trainer.gpus.milli:
        why = chosen.memory.note if chosen is not None else "the GPU type is not known"
        unsaid = (Unknown(NEEDS, f"{why}; they follow from it"),)
    needs = needs_of(workload.trainer, figures, offer, leaves_shm_to_us=workload.run is not None)
    filled = _filled(workload, needs, chosen, offer, ground)
    if part is not None and ground is not None:
        filled = placed_on_part(filled, part, ground.snapshot.nodes)
    answer = ask_walls(filled, ground)
    placement = None if ground is None else _locate(answer, chosen, ground)
    if offer is not None and placement is not None and ground is not None and not _is_cut(part):
        offer = _at_their_price(offer, placement, ground, workload.spot, sources)
    on_spot = may_be_on_spot(workload.spot, placement, ground)
    pace, cost, risk = time_and_money(filled, chosen, offer, figures, needs, answer, is_spot=on_spot)
    cost = with_fields(cost, spot=_spot(workload, chosen, ground, risk, sources))
    stranding = stranding_of(filled.trainer, needs, offer)
    plan = Plan(
        workload=workload,
        verdict=Verdict("fits"),
        devices=chosen.devices if chosen else None,
        memory=chosen.memory if chosen else _no_memory(workload, is_asked=ground is not None),
        needs=needs,
        placement=placement,
        stranding=stranding,
        stranded_rate=stranded_rate(stranding, offer),
        walls=answer.walls,
        pace=pace,
        cost=cost,
        risk=risk,
        parts=parts,
        effective=effective_of(filled, answer, needs, risk, chosen.memory.own if chosen else {}),
        unknown=(*workload.unknown, *unsaid, *(ground.unseen() if ground else ())),
        warnings=(
            *notes,
            *workload.remarks,
            *figures.warnings,
            *warnings_about(pace, cost, filled),
            *_about_cut(workload, ground),
        ),
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


def _is_cut(part: PartAnswer | None) -> bool:
    """Whether it is planned on a slice or a share, which has a price of its own."""
    return part is not None and part.how != "whole"


def _offer_to(chosen: Candidate, ground: Ground, sources: Sources) -> Offer | None:
    """The nodes of the chosen type that are open to the run; where there are none, those a change would open."""
    is_open = offer_for(chosen, ground.offered)
    return is_open or offer_for(chosen, offers(ground.snapshot.nodes, sources.price_of))


def _at_their_price(
    offer: Offer, placement: Placement, ground: Ground, spot: SpotUse, sources: Sources
) -> Offer:
    """The offer at the price of the nodes that would take the pods, where there are such: others are not paid for."""
    everywhere = gpu_prices(ground.offered).get(offer.gpu)
    if everywhere is not None and not everywhere.is_range:
        return offer  # all of them cost the same, so nobody need be asked which
    taking = set(placement.empty.feasible)
    there = open_to(ground.snapshot.nodes, spot)
    found = offers((node for node in there if node.metadata.name in taking), sources.price_of)
    price = gpu_prices(found).get(offer.gpu)
    return offer if price is None else replace(offer, gpu_price=price)


def _filled(
    workload: Workload,
    needs: tuple[Need, ...],
    chosen: Candidate | None,
    offer: Offer | None,
    ground: Ground | None,
) -> Workload:
    """The workload with what was left to us written in, aimed at the chosen GPU type where we may."""
    trainer = workload.trainer
    several = ground is not None and (len({offer.gpu for offer in ground.offered}) > 1 or bool(ground.cut))
    roles = []
    for role in workload.roles:
        if role is trainer:
            is_ours = workload.run is not None
            amounts = {**assumed_for(role, offer).as_amounts(), **amounts_to_fill(needs)}
            full = with_image(with_amounts(role, amounts)) if is_ours else role
            aims = chosen is not None and several and workload.run is not None
            roles.append(
                aimed_at(full, chosen.gpu, ground.snapshot.nodes) if aims and chosen and ground else full
            )
        else:
            roles.append(role)
    return workload.with_roles(*sorted(roles, key=lambda role: -role.gpus.milli * role.count))


def _locate(answer: NamespaceAnswer, chosen: Candidate | None, ground: Ground) -> Placement:
    estimate = chosen.memory.estimate if chosen else None
    return locate(
        answer.roles,
        ground.view,
        ground.empty,
        required=estimate.required if estimate else None,
        sees_all=ground.sees_all_pods,
        cut=ground.cut,
    )


def _spot(
    workload: Workload, chosen: Candidate | None, ground: Ground | None, risk: Risk, sources: Sources
) -> Spot | None:
    """Whether spot nodes would pay, for work that survives them."""
    if chosen is None or ground is None or risk.checkpoints is None:
        return None
    return spot_for(
        chosen.gpu.name,
        workload.gpus,
        workload.pods,
        save_seconds=risk.checkpoints.save_seconds or SMALLEST_GRACE,
        there=ground.snapshot.nodes,
        price_of=sources.price_of,
    )


def _about_cut(workload: Workload, ground: Ground | None) -> tuple[str, ...]:
    """What a manifest must say to keep off nodes that only seem to have whole GPUs; a Run says it by itself."""
    if ground is None or not ground.cut or workload.run is not None:
        return ()
    count = len(ground.cut)
    return (
        f"on {count} node{'' if count == 1 else 's'} (such as {ground.cut[0].metadata.name}) "
        f"{workload.trainer.gpus.resource} are parts of GPUs, and the scheduler does not know: "
        f"select {PRODUCT_LABEL}",
    )


def _whole_only(workload: Workload) -> str:
    """The resource of which only whole devices will do; nothing where parts do, or the pods choose by label."""
    role = workload.trainer
    spec = role.pod.spec
    chooses = any(key.startswith("nvidia.com/") for key in spec.node_selector) or bool(role.gpus.types)
    is_ours = workload.run is not None
    if role.gpus.kind != "whole" or role.gpus.is_fraction or (chooses and not is_ours):
        return ""
    return role.gpus.resource


def _no_memory(workload: Workload, *, is_asked: bool) -> GpuMemory:
    """Why nothing is known of GPU memory; `is_asked` says whether there are nodes to tell a GPU type."""
    if not workload.trainer.gpus.milli:
        return GpuMemory("", None, None, "no GPU is asked for")
    note = "no GPU type is named (gpus: 8 x h100), and no node tells one (--on)"
    if workload.run is None:
        nobody = (
            f"no node has {workload.trainer.gpus.resource}" if is_asked else "no cluster was asked (--on)"
        )
        note = f"the manifest names no GPU type, and {nobody}"
    return GpuMemory("", None, None, note)
