"""Changes to where pods may go, each tried with the scheduler's own rules before it is proposed.

Rules refuse in order: a node that is tainted *and* lacks a label says only that it is tainted. So what is found after
one change is asked again for the next, and where no single change finds nodes, pairs and then three at once are
tried. The fewest that do are proposed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import msgspec
from msgspec.structs import replace
from msgspec.structs import replace as with_fields

from tonnage.cluster.gpu_facts import facts_of
from tonnage.cluster.gpus import find_gpu
from tonnage.cluster.messages.scheduling_reasons import UNBOUND_IMMEDIATE
from tonnage.cluster.objects import Pod
from tonnage.cluster.objects.node import Taint
from tonnage.cluster.scheduling.tainting import untolerated_taints
from tonnage.planning.answers import Change, Edit
from tonnage.planning.ground import Ground
from tonnage.planning.locating import is_selected_away, is_tainted
from tonnage.planning.placing import Gang, Wanted, place_gang
from tonnage.planning.pods import PRODUCT_LABEL, claims_of
from tonnage.planning.situation import Situation
from tonnage.planning.tolerating import taint_text, tolerating
from tonnage.planning.workload.spot import SPOT_LABELS, spot_tolerations, spot_use

MOST_AT_ONCE = 3
MOST_KINDS = 3
"""Kinds of taints, or selectors, that are tried: the most frequent."""

_WHY_SPOT = {
    "never": "only spot nodes could take it, and it keeps off them",
    "only": "it wants spot nodes only, and none could take it",
}

Roles = tuple[Wanted, ...]


class Move(msgspec.Struct, frozen=True):
    """One change and the pods it makes."""

    change: Change
    roles: Roles


Mover = Callable[[Situation, Ground, Roles, Gang], Iterator[Move]]


def ways_to_a_place(situation: Situation, ground: Ground) -> list[tuple[Change, ...]]:
    """Every smallest set of changes with which all pods find empty nodes; none where even three do not do."""
    placement = situation.plan.placement
    assert placement is not None
    open_ends: list[tuple[tuple[Change, ...], Roles, Gang]] = [((), situation.roles, placement.empty)]
    for _ in range(MOST_AT_ONCE):
        found: list[tuple[Change, ...]] = []
        further: list[tuple[tuple[Change, ...], Roles, Gang]] = []
        for changes, roles, gang in open_ends:
            taken = {change.answers for change in changes}
            for move in _moves(situation, ground, roles, gang):
                if move.change.answers in taken:
                    continue
                after = place_gang(move.roles, ground.empty)
                path = (*changes, _told(move.change, after, roles[gang.stuck].name if gang.stuck else ""))
                if after.fits:
                    found.append(path)
                elif _moved(gang, after):  # it changed something, so it may be half of an answer
                    further.append((path, move.roles, after))
        if found:
            return _different(found)
        open_ends = further
    return []


def _moves(situation: Situation, ground: Ground, roles: Roles, gang: Gang) -> Iterator[Move]:
    for mover in (_tolerate, _unselect, _retype, _allow_spot, _bind, _spread):
        yield from mover(situation, ground, roles, gang)


def _tolerate(situation: Situation, ground: Ground, roles: Roles, gang: Gang) -> Iterator[Move]:  # noqa: ARG001
    pod = roles[gang.stuck].pod
    kinds: Counter[tuple[Taint, ...]] = Counter()
    for name, refusal in gang.in_the_way.items():
        if is_tainted(refusal):
            kinds[tuple(untolerated_taints(pod, ground.empty.nodes[name].node))] += 1
    choices = [(taints, ", ".join(map(taint_text, taints))) for taints, _ in kinds.most_common(MOST_KINDS)]
    if len(kinds) > 1:  # nodes of several teams: no kind of them may be enough
        every = tuple(dict.fromkeys(taint for taints in kinds for taint in taints))
        choices.append((every, _taints_by_key(every)))
    for taints, text in choices:
        change = Change(
            what=f"tolerate {text}",
            why="its nodes are tainted, and the pods do not tolerate it",
            answers="taints",
        )
        yield Move(change, _each(roles, partial(tolerating, taints=taints)))


def _taints_by_key(taints: Sequence[Taint]) -> str:
    """Taints by their key, where several differ in nothing but the value."""
    by_key: dict[tuple[str, str], list[Taint]] = {}
    for taint in taints:
        by_key.setdefault((taint.key, taint.effect), []).append(taint)
    return ", ".join(
        taint_text(alike[0]) if len(alike) == 1 else f"{key}:{effect} (any value)"
        for (key, effect), alike in by_key.items()
    )


def _unselect(situation: Situation, ground: Ground, roles: Roles, gang: Gang) -> Iterator[Move]:
    """Labels that no node has, together; else each label by itself."""
    if not any(map(is_selected_away, gang.in_the_way.values())):
        return
    selector = roles[gang.stuck].pod.spec.node_selector
    nodes = [info.labels for info in ground.empty.nodes.values()]
    nowhere = [key for key, value in selector.items() if not any(node.get(key) == value for node in nodes)]
    choices = [nowhere] if nowhere else [[key] for key in selector][:MOST_KINDS]
    for keys in choices:
        if situation.plan.workload.run is not None and PRODUCT_LABEL in keys:
            continue  # the GPU type is a choice of the document, not a label to drop
        text = ", ".join(f"{key}={selector[key]}" for key in keys)
        change = Change(
            what=f"drop the node selector {text}",
            effect="no node has that label" if nowhere else "",
            why=f"no node is labelled {text}" if nowhere else f"nodes with {text} do not take it",
            answers="selectors",
        )
        yield Move(change, _each(roles, partial(_without_labels, keys=keys)))


def _retype(situation: Situation, ground: Ground, roles: Roles, gang: Gang) -> Iterator[Move]:
    """Another GPU type, where nodes with the one that is named are not there or not to be had."""
    plan = situation.plan
    devices, role, estimate = plan.devices, plan.workload.trainer, plan.memory.estimate
    is_whole = role.gpus.kind == "whole" and not role.gpus.is_fraction
    if plan.workload.run is None or devices is None or not is_whole or not role.gpus.types:
        return
    if not any(map(is_selected_away, gang.in_the_way.values())):
        return
    required = estimate.required if estimate is not None else 0
    offers = sorted(ground.offered, key=lambda offer: offer.gpu_price.low if offer.gpu_price else 0)
    for name in dict.fromkeys(offer.gpu for offer in offers if offer.per_node >= devices.per_node):
        gpu = find_gpu(name)
        if gpu is None or name in role.gpus.types or facts_of(gpu).usable_bytes < required:
            continue
        text = f"{devices.per_node} x {name}"
        change = Change(
            what=f"gpus: {text}",
            field="gpus",
            value=text,
            why=f"no node with {devices.per_node} {devices.gpu} takes it",
            answers="GPU type",
            edits=(Edit("gpus", text),),
        )
        yield Move(change, _each(roles, partial(_on_product, product=gpu.product)))


def _allow_spot(situation: Situation, ground: Ground, roles: Roles, gang: Gang) -> Iterator[Move]:  # noqa: ARG001
    """A Run keeps off spot nodes, or to them, as it is told; where only the others are left, telling it helps."""
    run, use = situation.plan.workload.run, spot_use(roles[0].pod)
    if run is None or use not in _WHY_SPOT:
        return
    change = Change(
        what="spot: allowed",
        field="spot",
        value="allowed",
        why=_WHY_SPOT[use],
        answers="spot",
        edits=(Edit("spot", "allowed"),),
    )
    yield Move(change, _each(roles, _on_spot))


def _bind(situation: Situation, ground: Ground, roles: Roles, gang: Gang) -> Iterator[Move]:
    """Claims that wait for a volume keep the pods away from every node, however many there are."""
    if UNBOUND_IMMEDIATE not in gang.message:
        return
    workload = situation.plan.workload
    pending = sorted(
        claim.metadata.name
        for claim in ground.snapshot.claims
        if claim.metadata.namespace == workload.namespace
        and claim.metadata.name in claims_of(workload)
        and not claim.spec.volume_name
    )
    if pending:
        change = Change(
            what=f"have {', '.join(f'pvc/{name}' for name in pending)} bound to a volume",
            why="its pods wait for a volume, and the claim's class makes none when a pod comes",
            answers="claims",
        )
        yield Move(change, _each(roles, _without_claims))


def _spread(situation: Situation, ground: Ground, roles: Roles, gang: Gang) -> Iterator[Move]:  # noqa: ARG001
    """More pods with fewer GPUs each, where nodes are smaller than a pod."""
    plan = situation.plan
    devices, role = plan.devices, plan.workload.trainer
    if devices is None or role.gpus.kind != "whole" or plan.workload.run is None:
        return
    sizes = {offer.per_node for offer in ground.offered if offer.gpu == devices.gpu}
    smaller = [size for size in sizes if size < devices.per_node and devices.count % size == 0]
    if not smaller:
        return
    per_node = max(smaller)
    nodes = devices.count // per_node
    gpus = f"{per_node} x {devices.gpu}"
    change = Change(
        what=f"nodes: {nodes}, gpus: {gpus}",
        effect=f"the same {devices.count} GPUs",
        field="nodes",
        value=nodes,
        why=f"nodes have {per_node} {devices.gpu}, {devices.per_node} are asked for",
        answers="place",
        edits=(Edit("nodes", nodes), Edit("gpus", gpus)),
    )
    first = Wanted(roles[0].name, _with_gpus(roles[0].pod, role.gpus.resource, per_node), nodes)
    yield Move(change, (first, *roles[1:]))


def _moved(before: Gang, after: Gang) -> bool:
    """Whether other pods are stuck now, or the same for other reasons."""
    return (before.stuck, before.in_the_way) != (after.stuck, after.in_the_way)


def _told(change: Change, gang: Gang, beside: str) -> Change:
    """The change with what came of it; `beside` names pods that do not train and were stuck."""
    if change.effect or not gang.feasible:
        return change
    if beside:
        return replace(change, effect=f"the {beside} pods find nodes too")
    count = len(gang.feasible)
    return replace(change, effect=f"{count:,} node{'' if count == 1 else 's'} would take it")


def _different(paths: Sequence[tuple[Change, ...]]) -> list[tuple[Change, ...]]:
    """The same changes in another order are the same answer."""
    seen: dict[frozenset[str], tuple[Change, ...]] = {}
    for path in paths:
        seen.setdefault(frozenset(change.what for change in path), path)
    return list(seen.values())


def _each(roles: Roles, made: Callable[[Pod], Pod]) -> Roles:
    return tuple(Wanted(role.name, made(role.pod), role.count) for role in roles)


def _without_labels(pod: Pod, keys: Sequence[str]) -> Pod:
    left = {key: value for key, value in pod.spec.node_selector.items() if key not in keys}
    return with_fields(pod, spec=with_fields(pod.spec, node_selector=left))


def _on_product(pod: Pod, product: str) -> Pod:
    left = {**pod.spec.node_selector, PRODUCT_LABEL: product}
    return with_fields(pod, spec=with_fields(pod.spec, node_selector=left))


def _without_claims(pod: Pod) -> Pod:
    left = tuple(volume for volume in pod.spec.volumes if volume.persistent_volume_claim is None)
    return with_fields(pod, spec=with_fields(pod.spec, volumes=left))


def _on_spot(pod: Pod) -> Pod:
    """The pod without the lines that keep it off spot nodes, bearing their taints."""
    affinity = pod.spec.affinity
    node = affinity.node_affinity if affinity else None
    required = node.required_during_scheduling_ignored_during_execution if node else None
    if affinity is None or node is None or required is None:
        return pod
    terms = tuple(
        with_fields(
            term,
            match_expressions=tuple(line for line in term.match_expressions if line.key not in SPOT_LABELS),
        )
        for term in required.node_selector_terms
    )
    kept = tuple(term for term in terms if term.match_expressions or term.match_fields)
    required = with_fields(required, node_selector_terms=kept) if kept else None
    node = with_fields(node, required_during_scheduling_ignored_during_execution=required)
    spec = with_fields(pod.spec, affinity=with_fields(affinity, node_affinity=node))
    taints = [
        Taint(key=one["key"], value=one["value"], effect=one["effect"]) for one in spot_tolerations("allowed")
    ]
    return tolerating(with_fields(pod, spec=spec), taints)


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
