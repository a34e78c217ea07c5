"""Everything that stands in the way of a plan, each with the changes that were tried and found to help."""

from __future__ import annotations

from functools import cache

from msgspec.structs import replace

from tonnage.cluster.announcing import is_gpu, part_of
from tonnage.cluster.objects import Pod
from tonnage.figures import plural
from tonnage.planning.answers import Change, Edit
from tonnage.planning.changing import MEMORY, as_edits, change_for, edits_between, gib, inline
from tonnage.planning.ground import Ground
from tonnage.planning.locating import lacks, next_lacks, reasons_of
from tonnage.planning.mending import changes_for_wall, fewer_nodes
from tonnage.planning.moving import ways_to_a_place
from tonnage.planning.placing import Gang
from tonnage.planning.situation import Situation, scales_of, space_of
from tonnage.planning.solver.fixing import single_fixes
from tonnage.planning.solver.setup import Setup
from tonnage.planning.solver.space import only
from tonnage.planning.solving import find_leanest, has_hope
from tonnage.planning.verdict import (
    Obstacle,
    claim_obstacles,
    losing_obstacle,
    memory_why,
    need_obstacles,
)
from tonnage.units import format_bytes

ENOUGH_FIXES = 2
_LABELS = {"memory": "RAM", "ephemeral-storage": "disk", "cpu": "cpu"}


def obstacles_of(situation: Situation) -> list[Obstacle]:
    """What is in the way, the largest first: the GPU, the pod, its place, the walls, and what can be lost."""
    plan = situation.plan
    needs = need_obstacles(plan.needs, plan.workload)
    found = [*_contradiction(situation), *_memory(situation), *needs]
    if not needs:
        found += _place(situation)
    found += claim_obstacles(situation.missing_claims, plan.workload)
    found += _walls(situation)
    found += losing_obstacle(plan)
    return found


def _contradiction(situation: Situation) -> list[Obstacle]:
    """A document that no number of GPUs could follow: its launcher would refuse to start."""
    found = situation.chosen.contradiction if situation.chosen is not None else None
    if found is None:
        return []
    if found.mend:
        return [Obstacle(str(found), (Change(what=found.mend, why=str(found), answers="model"),))]
    if not found.field:
        return [Obstacle(str(found))]
    change = Change(
        what=f"{found.field}: {found.value}",
        effect="divides the ranks there are",
        field=found.field,
        value=found.value,
        why=str(found),
        answers="parallel",
        edits=(Edit(found.field, found.value),),
    )
    return [Obstacle(str(found), (change,))]


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
    if plan.fit is not None:  # no setting of these devices fits, so only others are left to try
        space = replace(only(space.base), devices=space.devices)
    is_open = cache(lambda: plan.fit is None and has_hope(situation))
    fixes = single_fixes(space, scales_of(situation), enough=ENOUGH_FIXES, has_hope=is_open)
    if fixes:
        return [Obstacle(why, tuple(change_for(fix) for fix in fixes))]
    lean = find_leanest(situation) if is_open() else None
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
    """The pods do not find nodes even if these were empty: which rules are it, and which changes would help?"""
    placement, ground = situation.plan.placement, situation.ground
    if placement is None or ground is None or placement.empty.fits or not ground.sees("nodes"):
        return []
    if not ground.empty.nodes and not ground.cut:
        return [Obstacle("there are no nodes")]
    ways = ways_to_a_place(situation, ground)
    if ways and len(ways[0]) > 1:  # several at once: each is one more thing in the way
        return [Obstacle(change.why, (change,)) for change in ways[0]]
    placed, wanted = placement.empty.placed, placement.empty.wanted
    changes = [way[0] for way in ways]
    fewer = None
    if placed and len(situation.roles) == 1:
        found = f"{placed:,} of {wanted:,} pods find a node; the global batch changes with it"
        fewer = fewer_nodes(situation, placed, why=_why_not_all(situation, ground), effect=found)
    return [Obstacle(_why_nowhere(situation, ground), (*changes, *([fewer] if fewer else [])))]


def _why_nowhere(situation: Situation, ground: Ground) -> str:
    placement, roles = situation.plan.placement, situation.roles
    assert placement is not None
    gang = placement.empty
    whose = f"{roles[gang.stuck].name}: " if len(roles) > 1 else ""
    return whose + (
        f"only {gang.placed:,} of {gang.wanted:,} pods find a node, even empty{_next(gang)}"
        if gang.placed
        else _why_no_node(gang, roles[gang.stuck].pod, ground)
    )


def _why_not_all(situation: Situation, ground: Ground) -> str:
    """What the first pod that finds no node lacks, where it would lack least."""
    placement = situation.plan.placement
    assert placement is not None
    gang = placement.empty
    node, short = next_lacks(gang, situation.roles[gang.stuck].pod, ground.empty)
    if not short:
        return "there are not enough nodes"
    parts = "; ".join(
        f"{_amount(lack.resource, lack.asked)} asked for, {_amount(lack.resource, max(lack.most, 0))} left on {node}"
        for lack in short
    )
    return f"there is room for {gang.placed:,} of {gang.wanted:,} pods; the next: {parts}"


def _next(gang: Gang) -> str:
    """What the scheduler would tell the pods that are left over, without what it says of preemption."""
    reasons = gang.message.partition("nodes are available: ")[2].partition(". ")[0].rstrip(".")
    return f"; to the others: {reasons}" if reasons else ""


def _why_no_node(gang: Gang, pod: Pod, ground: Ground) -> str:
    short = lacks(gang, pod, ground.empty)
    if short and all(lack.most == 0 for lack in short):
        names = " and ".join(lack.resource for lack in short)
        return f"no node has {names}{_under_another_name(short[0].resource, ground)}"
    if short:
        parts = "; ".join(
            f"{_amount(lack.resource, lack.asked)} asked for, {_amount(lack.resource, lack.most)} there"
            for lack in short
        )
        return f"no node is large enough: {parts}"
    if ground.cut and not any(offer.gpu for offer in ground.offered):
        count = len(ground.cut)
        return (
            f"the GPUs of {count:,} node{'' if count == 1 else 's'} are cut or shared: no node has whole ones"
        )
    reasons = ", ".join(reasons_of(gang.in_the_way)[:2])
    return f"no node takes it: {reasons or gang.message}"


def _under_another_name(resource: str, ground: Ground) -> str:
    """MIG slices have a name of their own only under the mixed strategy; under the single one they are called GPUs."""
    profile = part_of(resource, {})
    named = [
        name
        for node in ground.snapshot.nodes
        for name, count in node.status.allocatable.items()
        if profile and is_gpu(name) and count != "0" and part_of(name, node.metadata.labels) == profile
    ]
    if not named:
        return ""
    verb = "announces" if len(named) == 1 else "announce"
    return f": {plural(len(named), 'node')} {verb} such slices as {named[0]}"


def _walls(situation: Situation) -> list[Obstacle]:
    """Walls that would stand on an empty namespace."""
    return [
        Obstacle(wall.text, changes_for_wall(wall, situation))
        for wall in situation.plan.walls
        if wall.standing == "never"
    ]


def _amount(resource: str, amount: int) -> str:
    label = _LABELS.get(resource, resource)
    if resource == "cpu":
        return f"{amount / 1000:,.0f} cores"
    if resource in ("memory", "ephemeral-storage"):
        return f"{format_bytes(amount)} {label}"
    return f"{amount} {label}"
