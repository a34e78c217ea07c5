"""Walls that the document itself can get past: a limit that was left out, or is above what a container may have;
fewer nodes than a quota allows.

Each is tried: the changed pods are asked about again, and on fewer nodes the step must still divide and fit.
"""

from __future__ import annotations

from msgspec.structs import replace as with_fields

from tonnage.cluster.admission.resource_names import may_overcommit
from tonnage.cluster.objects import Container, Pod
from tonnage.planning.admitting import NO_CLUSTER
from tonnage.planning.answers import Change, Edit
from tonnage.planning.choosing import usable_bytes
from tonnage.planning.estimating import CannotEstimate
from tonnage.planning.needing import RESOURCES
from tonnage.planning.placing import Wanted
from tonnage.planning.recipes import Incomplete, recipe_of
from tonnage.planning.situation import Situation
from tonnage.planning.solver.setup import Devices, Setup
from tonnage.planning.walls import Wall, ask_namespace
from tonnage.units import parse_quantity

_NEEDS_LIMIT = "non overcommitable"


def changes_for_wall(wall: Wall, situation: Situation) -> tuple[Change, ...]:
    """What in the document would get the run past a wall that stands for ever."""
    if wall.kind == "pod":
        found = _with_limits(wall, situation)
    elif wall.kind == "quota":
        found = _within_quota(wall, situation)
    elif wall.kind == "limit range":
        found = _within_range(wall, situation)
    else:
        found = None
    return () if found is None else (found,)


def fewer_nodes(situation: Situation, nodes: int, *, why: str, effect: str) -> Change | None:
    """A smaller gang, where the step still divides and fits the GPU."""
    workload = situation.plan.workload
    if workload.run is None or nodes < 1 or not _still_trains(situation, nodes):
        return None
    return Change(
        what=f"nodes: {nodes}",
        effect=effect,
        field="nodes",
        value=nodes,
        why=why,
        answers="place",
        edits=(Edit("nodes", nodes),),
    )


def _with_limits(wall: Wall, situation: Situation) -> Change | None:
    """Kubernetes takes devices by their limit, and copies it into the request; the reverse it refuses."""
    role = next((role for role in situation.roles if role.name == wall.name), None)
    if role is None or _NEEDS_LIMIT not in wall.text:
        return None
    snapshot = NO_CLUSTER if situation.ground is None else situation.ground.snapshot
    mended = Wanted(role.name, _limited(role.pod), role.count)
    answer = ask_namespace([mended], situation.plan.workload.namespace, snapshot)
    if any(one.kind == "pod" for one in answer.walls):
        return None
    said = {
        name: amount
        for container in role.pod.spec.containers
        for name, amount in _without_limit(container).items()
    }
    text = ", ".join(f"{name}: {amount}" for name, amount in said.items())
    return Change(
        what=f"limits: {{{text}}}",
        effect="the request follows from it",
        why="devices are asked for by their limit, and only a request is given",
        answers=f"limits of {role.name}",
    )


def _within_range(wall: Wall, situation: Situation) -> Change | None:
    """As much as a limit range lets one container have, where no more is needed."""
    name = next((name for name, resource in RESOURCES.items() if resource == wall.resource), None)
    is_above = bool(wall.asked) and parse_quantity(wall.asked) > parse_quantity(wall.hard)
    if name is None or not is_above:
        return None
    needed = next((need.needed for need in situation.plan.needs if need.name == name), None)
    bound = parse_quantity(wall.hard)
    if needed is not None and needed > (bound.milli() if name == "cpu" else bound.value()):
        return None
    is_ours = situation.plan.workload.run is not None
    known = "no more is needed" if needed is not None else "whether that is enough is not known"
    return Change(
        what=f"{name}: {wall.hard}" if is_ours else f"limits: {{{wall.resource}: {wall.hard}}}",
        effect=f"as much as limit range {wall.name} allows; {known}",
        field=name if is_ours else "",
        value=wall.hard,
        why=wall.text,
        answers=f"limit range {wall.resource}",
    )


def _within_quota(wall: Wall, situation: Situation) -> Change | None:
    """As many nodes as the quota holds."""
    ground, roles = situation.ground, situation.roles
    if ground is None or len(roles) != 1:
        return None
    for nodes in range(roles[0].count - 1, 0, -1):
        trial = [Wanted(roles[0].name, roles[0].pod, nodes)]
        answer = ask_namespace(trial, situation.plan.workload.namespace, ground.snapshot)
        if not any(one.standing == "never" for one in answer.walls):
            return fewer_nodes(
                situation,
                nodes,
                why=wall.text,
                effect=f"as many as quota {wall.name} holds; the global batch changes with it",
            )
    return None


def _still_trains(situation: Situation, nodes: int) -> bool:
    chosen, run = situation.chosen, situation.plan.workload.run
    if chosen is None or run is None:
        return True
    devices = Devices(chosen.devices.gpu, chosen.devices.per_node, nodes)
    try:
        setup = Setup(recipe_of(run, devices, chosen.own), devices)
        estimator = situation.sources.estimator
        if estimator is None or chosen.memory.estimate is None:
            return True
        return estimator.estimate(setup).required <= usable_bytes(
            chosen.gpu, situation.plan.workload.trainer.gpus
        )
    except CannotEstimate:
        return False
    except Incomplete:
        return chosen.setup is None  # it did not divide before either


def _without_limit(container: Container) -> dict[str, str]:
    limits = container.resources.limits
    return {
        name: amount
        for name, amount in container.resources.requests.items()
        if not may_overcommit(name) and limits.get(name) != amount
    }


def _limited(pod: Pod) -> Pod:
    containers = tuple(
        with_fields(
            container,
            resources=with_fields(
                container.resources, limits={**container.resources.limits, **_without_limit(container)}
            ),
        )
        for container in pod.spec.containers
    )
    return with_fields(pod, spec=with_fields(pod.spec, containers=containers))
