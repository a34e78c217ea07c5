"""Everything that stands in the way of a plan, each with the changes that were tried and found to help."""

from __future__ import annotations

from dataclasses import dataclass

from msgspec.structs import replace as with_fields

from tonnage.cluster.objects import Pod
from tonnage.planning.answers import Change, Plan
from tonnage.planning.catalogue import gpu_prices
from tonnage.planning.changing import MEMORY, change_for
from tonnage.planning.choosing import Candidate
from tonnage.planning.ground import Ground
from tonnage.planning.locating import lacks, reasons_of, taints_in_the_way, unmatched_selectors
from tonnage.planning.placing import Wanted, place_gang
from tonnage.planning.solver.fixing import single_fixes
from tonnage.planning.solver.opening import device_choices, open_space
from tonnage.planning.solver.setup import Setup
from tonnage.planning.solver.space import Space
from tonnage.planning.sources import Sources
from tonnage.planning.tolerating import taint_text, tolerating
from tonnage.planning.verdict import (
    Obstacle,
    claim_obstacles,
    losing_obstacle,
    memory_why,
    need_obstacles,
    wall_obstacles,
)
from tonnage.planning.weighing import Scales
from tonnage.units import format_bytes

_LABELS = {"memory": "RAM", "ephemeral-storage": "disk", "cpu": "cpu"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """A plan before its verdict, with what is needed to try changes."""

    plan: Plan
    sources: Sources
    ground: Ground | None
    chosen: Candidate | None
    roles: tuple[Wanted, ...]
    missing_claims: tuple[str, ...] = ()
    tries_changes: bool = True
    """Whether estimates are cheap enough to try other settings for a hint."""


def obstacles_of(situation: Situation) -> list[Obstacle]:
    """What is in the way, the largest first: the GPU, the pod, its place, the walls, and what can be lost."""
    plan = situation.plan
    needs = need_obstacles(plan.needs, plan.workload)
    found = [*_memory(situation), *needs]
    if not needs:
        found += _place(situation)
    found += claim_obstacles(situation.missing_claims, plan.workload)
    found += wall_obstacles(plan)
    found += losing_obstacle(plan)
    return found


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


def scales_of(situation: Situation) -> Scales:
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
    )


def _memory(situation: Situation) -> list[Obstacle]:
    plan = situation.plan
    if plan.memory.state != "does not fit":
        return []
    why = memory_why(plan)
    space = space_of(situation) if situation.tries_changes else None
    if space is None:
        hint = Change(what="let --fit look for one", why=why, answers=MEMORY)
        return [Obstacle(why, (hint,) if not situation.tries_changes else ())]
    fixes = single_fixes(space, scales_of(situation))
    return [Obstacle(why, tuple(change_for(fix) for fix in fixes))]


def _place(situation: Situation) -> list[Obstacle]:
    """The pods do not find nodes even if these were empty: which rule is it, and would a change help?"""
    placement, ground = situation.plan.placement, situation.ground
    if placement is None or ground is None or placement.empty.fits or not ground.sees("nodes"):
        return []
    if not ground.view.nodes:
        return [Obstacle("there are no nodes")]
    pod = situation.roles[0].pod
    changes = [
        change
        for change in (_tolerate(situation), _unselect(situation), _spread(situation), _fewer(situation))
        if change is not None
    ]
    short = lacks(placement, pod, ground.empty)
    if placement.empty.placed:
        why = f"only {placement.empty.placed} of {placement.empty.wanted} pods find a node, even empty"
    elif short:
        parts = "; ".join(
            f"{_amount(lack.resource, lack.asked)} asked for, {_amount(lack.resource, lack.most)} there"
            for lack in short
        )
        why = f"no node is large enough: {parts}"
    else:
        reasons = ", ".join(reasons_of(placement.empty.refused)[:2])
        why = f"no node takes it: {reasons or placement.empty.message}"
    return [Obstacle(why, tuple(changes))]


def _tolerate(situation: Situation) -> Change | None:
    placement, ground = situation.plan.placement, situation.ground
    assert placement is not None
    assert ground is not None
    taints = taints_in_the_way(placement, situation.roles[0].pod, ground.empty)
    if not taints:
        return None
    trial = [Wanted(role.name, tolerating(role.pod, taints), role.count) for role in situation.roles]
    gang = place_gang(trial, ground.empty)
    if not gang.fits:
        return None
    text = ", ".join(map(taint_text, taints))
    return Change(
        what=f"tolerate {text}",
        effect=f"{len(gang.feasible)} nodes would take it",
        why="its nodes are tainted, and the pods do not tolerate it",
        answers="taints",
    )


def _unselect(situation: Situation) -> Change | None:
    placement, ground = situation.plan.placement, situation.ground
    assert placement is not None
    assert ground is not None
    keys = unmatched_selectors(placement, situation.roles[0].pod, ground.empty)
    if not keys:
        return None
    unmatched = {key for key, _ in keys}
    trial = []
    for role in situation.roles:
        spec = role.pod.spec
        left = {key: value for key, value in spec.node_selector.items() if key not in unmatched}
        pod = with_fields(role.pod, spec=with_fields(spec, node_selector=left))
        trial.append(Wanted(role.name, pod, role.count))
    if not place_gang(trial, ground.empty).fits:
        return None
    text = ", ".join(f"{key}={value}" for key, value in keys)
    return Change(
        what=f"drop the node selector {text}",
        effect="no node has that label",
        why=f"no node is labelled {text}",
        answers="selectors",
    )


def _spread(situation: Situation) -> Change | None:
    """More pods with fewer GPUs each, where nodes are smaller than a pod."""
    plan, ground = situation.plan, situation.ground
    assert ground is not None
    devices, role = plan.devices, plan.workload.trainer
    if devices is None or role.gpus.kind != "whole" or plan.workload.run is None:
        return None
    sizes = {offer.per_node for offer in ground.offered if offer.gpu == devices.gpu}
    smaller = [size for size in sizes if size < devices.per_node and devices.count % size == 0]
    if not smaller:
        return None
    per_node = max(smaller)
    nodes = devices.count // per_node
    trial = Wanted(role.name, _with_gpus(situation.roles[0].pod, role.gpus.resource, per_node), nodes)
    if not place_gang([trial, *situation.roles[1:]], ground.empty).fits:
        return None
    return Change(
        what=f"nodes: {nodes}, gpus: {per_node} x {devices.gpu}",
        effect=f"the same {devices.count} GPUs",
        field="nodes",
        value=nodes,
        why=f"nodes have {per_node} {devices.gpu}, {devices.per_node} are asked for",
        answers="place",
    )


def _fewer(situation: Situation) -> Change | None:
    """As many nodes as there are, where some pods find one."""
    plan = situation.plan
    placement = plan.placement
    assert placement is not None
    placed = placement.empty.placed
    if placed == 0 or len(situation.roles) > 1 or plan.workload.run is None:
        return None
    return Change(
        what=f"nodes: {placed}",
        effect=f"{placed} of {placement.empty.wanted} pods find a node",
        field="nodes",
        value=placed,
        why="there are not enough nodes",
        answers="place",
    )


def _with_gpus(pod: Pod, resource: str, count: int) -> Pod:
    containers = tuple(
        with_fields(
            container,
            resources=with_fields(
                container.resources,
                requests={**container.resources.requests, resource: str(count)},
                limits={**container.resources.limits, resource: str(count)},
            ),
        )
        if resource in container.resources.requests or resource in container.resources.limits
        else container
        for container in pod.spec.containers
    )
    return with_fields(pod, spec=with_fields(pod.spec, containers=containers))


def _amount(resource: str, amount: int) -> str:
    label = _LABELS.get(resource, resource)
    if resource == "cpu":
        return f"{amount / 1000:,.0f} cores"
    if resource in ("memory", "ephemeral-storage"):
        return f"{format_bytes(amount)} {label}"
    return f"{amount} {label}"
