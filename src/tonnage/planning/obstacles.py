"""Everything that stands in the way of a plan, each with the changes that were tried and found to help."""

from __future__ import annotations

from dataclasses import replace

from msgspec.structs import replace as with_fields

from tonnage.cluster.messages.scheduling_reasons import UNBOUND_IMMEDIATE
from tonnage.cluster.objects import Pod
from tonnage.planning.answers import Change
from tonnage.planning.changing import MEMORY, as_edits, change_for, edits_between, gib, inline
from tonnage.planning.locating import lacks, reasons_of, taints_in_the_way, unmatched_selectors
from tonnage.planning.placing import Wanted, place_gang
from tonnage.planning.pods import claims_of
from tonnage.planning.situation import Situation, scales_of, space_of
from tonnage.planning.solver.fixing import single_fixes
from tonnage.planning.solver.setup import Setup
from tonnage.planning.solver.space import only
from tonnage.planning.solving import find_leanest, has_hope
from tonnage.planning.tolerating import taint_text, tolerating
from tonnage.planning.verdict import (
    Obstacle,
    claim_obstacles,
    losing_obstacle,
    memory_why,
    need_obstacles,
    wall_obstacles,
)
from tonnage.units import format_bytes

ENOUGH_FIXES = 2
_LABELS = {"memory": "RAM", "ephemeral-storage": "disk", "cpu": "cpu"}


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


def _memory(situation: Situation) -> list[Obstacle]:
    """A step too large for its GPU: one knob turned, else the cheapest settings that fit."""
    plan = situation.plan
    if plan.memory.state != "does not fit":
        return []
    why = memory_why(plan)
    space = space_of(situation)
    if space is None:
        return [Obstacle(why)]
    if plan.fit is not None and plan.fit.chosen is not None:
        return [Obstacle(why, (_together(plan.fit.chosen.setup, plan.fit.chosen.required, situation),))]
    is_open = plan.fit is None and has_hope(situation)
    if not is_open:  # no setting of these devices fits, so only others are left to try
        space = replace(only(space.base), devices=space.devices)
    fixes = single_fixes(space, scales_of(situation), enough=ENOUGH_FIXES)
    if fixes:
        return [Obstacle(why, tuple(change_for(fix) for fix in fixes))]
    lean = find_leanest(situation) if is_open else None
    changes = (_together(lean.setup, lean.room.required, situation),) if lean is not None else ()
    return [Obstacle(why, changes)]


def _together(chosen: Setup, required: int, situation: Situation) -> Change:
    """Several knobs as one change."""
    assert situation.chosen is not None
    assert situation.chosen.setup is not None
    edits = edits_between(situation.chosen.setup, chosen)
    text = ", ".join(f"{field}: {inline(value)}" for field, value in edits)
    return Change(
        what=text,
        effect=gib(required),
        why="the step does not fit the GPU",
        answers=MEMORY,
        edits=as_edits(edits),
    )


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
        for change in (
            _tolerate(situation),
            _unselect(situation),
            _bind(situation),
            _spread(situation),
            _fewer(situation),
        )
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


def _bind(situation: Situation) -> Change | None:
    """Claims that wait for a volume keep the pods away from every node, however many there are."""
    placement, ground = situation.plan.placement, situation.ground
    assert placement is not None
    assert ground is not None
    if UNBOUND_IMMEDIATE not in placement.empty.message:
        return None
    workload = situation.plan.workload
    pending = sorted(
        claim.metadata.name
        for claim in ground.snapshot.claims
        if claim.metadata.namespace == workload.namespace
        and claim.metadata.name in claims_of(workload)
        and not claim.spec.volume_name
    )
    trial = [Wanted(role.name, _without_claims(role.pod), role.count) for role in situation.roles]
    gang = place_gang(trial, ground.empty)
    if not pending or not gang.fits:
        return None
    return Change(
        what=f"have {', '.join(f'pvc/{name}' for name in pending)} bound to a volume",
        effect=f"{len(gang.feasible)} nodes would take it",
        why="its pods wait for a volume, and the claim's class makes none when a pod comes",
        answers="claims",
    )


def _without_claims(pod: Pod) -> Pod:
    left = tuple(volume for volume in pod.spec.volumes if volume.persistent_volume_claim is None)
    return with_fields(pod, spec=with_fields(pod.spec, volumes=left))


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
