"""A wish for part of a GPU, carried out: which part is taken, and the pod that asks for it.

Kubernetes gives no halves. What a node gives is a MIG slice under a name of its own (mixed strategy) or under the name
of a whole GPU (single strategy, shares), told apart by labels alone. So the pod is aimed at nodes that have the part
and asks for it by the name those nodes announce; quotas, queues and the scheduler are then asked about that pod.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace
from msgspec.structs import replace as with_fields

from tonnage.cluster.announcing import is_gpu, part_of
from tonnage.cluster.gpu_facts import facts_of
from tonnage.cluster.gpus import find_gpu
from tonnage.cluster.objects import Container, Node
from tonnage.memory.estimate import Estimate
from tonnage.planning.aiming import gpu_terms, labels_for
from tonnage.planning.choosing import Candidate, candidates
from tonnage.planning.solver.parts import PartAnswer
from tonnage.planning.sources import Sources
from tonnage.planning.workload import Role, Workload
from tonnage.planning.workload.of_run import role_of_run
from tonnage.planning.workload.template import NodeLabels

_NEARLY = 0.9
"""MIG's slices are a little smaller than their part of the whole."""


def part_taken(answers: Iterable[PartAnswer], milli: int, *, knows_need: bool) -> PartAnswer | None:
    """The best part that some node offers; where nobody knows what the step needs, one as large as was asked for."""
    offered = [answer for answer in answers if answer.nodes and answer.fits]
    if knows_need:
        return next(iter(offered), None)
    return next((answer for answer in offered if answer.memory >= _fair(answer.gpu, milli)), None)


def part_of_choice(
    answers: Iterable[PartAnswer], workload: Workload, chosen: Candidate | None
) -> PartAnswer | None:
    """The part that a workload is planned on; None where it wants whole GPUs."""
    if chosen is None:
        return None
    return part_taken(answers, workload.trainer.gpus.milli, knows_need=chosen.memory.estimate is not None)


def on_part(chosen: Candidate, part: PartAnswer, workload: Workload, sources: Sources) -> Candidate:
    """The choice on the part that is taken: its GPU, the memory it has, and the time it takes at most."""
    gpu = find_gpu(part.gpu)
    if gpu is None:
        return chosen
    found = chosen if gpu == chosen.gpu else candidates(workload, [gpu], sources)[0]
    memory = replace(found.memory, usable=part.memory, estimate=_slowed(found.memory.estimate, part.slower))
    return replace(found, memory=memory)


def _slowed(estimate: Estimate | None, factor: float) -> Estimate | None:
    """The estimate with steps that take longer: as long as the whole GPU's at the least, all of the factor at most."""
    if estimate is None or estimate.step_seconds is None or factor == 1.0:
        return estimate
    took = estimate.step_seconds
    slower = with_fields(took, p50=took.p50 * factor, p90=took.p90 * factor)
    return with_fields(estimate, step_seconds=slower)


def kind_of(part: PartAnswer) -> str:
    """What nodes announce it as: a MIG profile, `shared`, or nothing for a whole GPU."""
    return "" if part.how == "whole" else part.profile or "shared"


def resource_of(part: PartAnswer, nodes: Iterable[Node]) -> str:
    """The name under which nodes announce the part: MIG's two strategies differ."""
    kind = kind_of(part)
    named = (
        name
        for node in nodes
        for name, count in node.status.allocatable.items()
        if is_gpu(name) and count != "0" and part_of(name, node.metadata.labels) == kind
    )
    return next(named, part.resource)


def placed_on_part(workload: Workload, part: PartAnswer, nodes: Sequence[Node]) -> Workload:
    """The workload with its trainers asking for the part; everything else stays as it is."""
    trainer = workload.trainer
    roles = [_as_part(workload, role, part, nodes) if role is trainer else role for role in workload.roles]
    return workload.with_roles(*roles)


def _as_part(workload: Workload, role: Role, part: PartAnswer, nodes: Sequence[Node]) -> Role:
    """The role with its pods asking for the part, on nodes that have it."""
    gpu = find_gpu(part.gpu)
    if workload.run is None or gpu is None:
        return role
    terms = gpu_terms([gpu], nodes, kind_of(part))
    labels = NodeLabels(terms, labels_for(workload.run, nodes).spot)
    aimed = role_of_run(workload.run, workload.namespace, labels).pod.spec
    resource = resource_of(part, nodes)
    containers = tuple(
        _asking(each, resource) if each.name == role.container else each for each in role.pod.spec.containers
    )
    spec = with_fields(
        role.pod.spec,
        node_selector=aimed.node_selector,
        affinity=aimed.affinity,
        tolerations=aimed.tolerations,
        containers=containers,
    )
    wish = replace(role.gpus, resource=resource, profile=part.profile)
    return replace(role, pod=with_fields(role.pod, spec=spec), gpus=wish)


def _asking(container: Container, resource: str) -> Container:
    """The container with one of this resource in place of the GPU it asked for."""

    def swapped(amounts: dict[str, str]) -> dict[str, str]:
        return {**{name: text for name, text in amounts.items() if not is_gpu(name)}, resource: "1"}

    held = container.resources
    resources = with_fields(held, requests=swapped(held.requests), limits=swapped(held.limits))
    return with_fields(container, resources=resources)


def _fair(gpu: str, milli: int) -> float:
    """Bytes that a part of this size may be expected to have."""
    known = find_gpu(gpu)
    return 0.0 if known is None else facts_of(known).usable_bytes * milli / 1000 * _NEARLY
