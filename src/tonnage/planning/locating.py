"""The cluster's nodes as this run sees them: which would take it now, which if they were empty, and what it would
take for the others.

Nodes are shown by pool, since nobody reads a thousand names. What keeps a pool away is found by the rule that
refused it, and a change is only proposed after the scheduler's rules have been asked again with it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

from tonnage.cluster.announcing import devices_of, gpu_type_of, is_to_come, pool_of
from tonnage.cluster.gpu_facts import facts_of as gpu_facts
from tonnage.cluster.gpus import find_gpu
from tonnage.cluster.objects import Node, Pod
from tonnage.cluster.scheduling import ClusterView, Refusal
from tonnage.cluster.scheduling.facts import incoming_requests
from tonnage.cluster.scheduling.fitting import Shortfall, shortfalls
from tonnage.cluster.scheduling.tainting import untolerated_taints
from tonnage.planning.answers import NodeGroup, Placement
from tonnage.planning.placing import Gang, Wanted, place_gang
from tonnage.planning.tolerating import taint_text
from tonnage.planning.workload.spot import SPOT_LABELS, spot_use

_TAINTED = "TaintToleration"
_SELECTED = "NodeAffinity"
_FITTING = "NodeResourcesFit"


class Lack(msgspec.Struct, frozen=True):
    """A resource of which no node has enough, even empty."""

    resource: str
    asked: int
    most: int
    """What the largest node that could otherwise serve has."""


def locate(
    roles: Sequence[Wanted],
    view: ClusterView,
    empty: ClusterView,
    *,
    required: int | None,
    sees_all: bool,
    cut: Sequence[Node] = (),
) -> Placement:
    """Place the run now and on empty nodes, and sum up what each pool says."""
    now, later = place_gang(roles, view), place_gang(roles, empty)
    trainer = roles[0].pod
    return Placement(
        now=now,
        empty=later,
        groups=(*_groups(trainer, empty, now, later, required), *_cut_groups(cut)),
        needs=_carried(trainer),
        sees_all=sees_all,
    )


def lacks(gang: Gang, pod: Pod, view: ClusterView) -> tuple[Lack, ...]:
    """What no node has enough of, judged by the nodes that come closest; nothing where one is large enough.

    Nodes that are closed to the pod for another reason count too: what keeps it off them is not their size.
    """
    wanted = incoming_requests(pod)
    short = [shortfalls(wanted, view.nodes[name]) for name in gang.in_the_way]
    if not short or not all(short):
        return ()
    fewest = min(len(found) for found in short)
    closest = [found for found in short if len(found) == fewest]
    best: dict[str, Shortfall] = {}
    for found in closest:
        for lack in found:
            if lack.resource not in best or _room(lack) > _room(best[lack.resource]):
                best[lack.resource] = lack
    return tuple(Lack(lack.resource, lack.requested, _room(lack)) for lack in best.values())


def next_lacks(gang: Gang, pod: Pod, view: ClusterView) -> tuple[str, tuple[Lack, ...]]:
    """What the first pod left over lacks on the node that comes closest, beside those of the gang that it took."""
    best: tuple[tuple[int, float], str, tuple[Lack, ...]] | None = None
    for name, count in gang.places.items():
        together = incoming_requests(pod)
        for _ in range(count):
            together.add(incoming_requests(pod))
        found = [each for each in shortfalls(together, view.nodes[name]) if each.resource != "pods"]
        each_asks = {each.resource: each.requested // (count + 1) for each in found}
        short = tuple(
            Lack(each.resource, each_asks[each.resource], _room(each) - count * each_asks[each.resource])
            for each in found
        )
        missing = max(((lack.asked - lack.most) / lack.asked for lack in short), default=0.0)
        if short and (best is None or (len(short), missing) < best[0]):
            best = (len(short), missing), name, short
    return ("", ()) if best is None else best[1:]


def reasons_of(refused: Mapping[str, Refusal]) -> tuple[str, ...]:
    """The scheduler's reasons with how many nodes gave each, the most frequent first."""
    counted: Counter[str] = Counter()
    for refusal in refused.values():
        counted.update(refusal.reasons)
    return tuple(f"{count:,} {reason}" for reason, count in counted.most_common())


def is_tainted(refusal: Refusal) -> bool:
    """Whether a taint kept the pod away."""
    return refusal.plugin == _TAINTED


def is_selected_away(refusal: Refusal) -> bool:
    """Whether a node selector or affinity kept the pod away."""
    return refusal.plugin == _SELECTED


def _room(lack: Shortfall) -> int:
    return lack.capacity - lack.used


def _groups(
    pod: Pod, view: ClusterView, now: Gang, empty: Gang, required: int | None
) -> tuple[NodeGroup, ...]:
    by_kind: dict[tuple[str, str, int], list[Node]] = {}
    for info in view.nodes.values():
        gpus = devices_of(info.node).get("", 0)
        by_kind.setdefault((pool_of(info.node), gpu_type_of(info.node), gpus), []).append(info.node)
    takes_now, takes_empty = set(now.feasible), set(empty.feasible)
    groups = [
        _group(kind, nodes, pod, takes_now, takes_empty, empty.refused, required)
        for kind, nodes in by_kind.items()
    ]
    return tuple(
        sorted(groups, key=lambda group: (-group.takes_now, -group.takes_empty, -group.gpus_per_node))
    )


def _cut_groups(nodes: Sequence[Node]) -> tuple[NodeGroup, ...]:
    """Nodes whose GPUs are cut or shared, by what one of theirs is."""
    by_kind: dict[tuple[str, str, str], list[Node]] = {}
    for node in nodes:
        part = next(iter(devices_of(node)), "")
        by_kind.setdefault((pool_of(node), gpu_type_of(node), part), []).append(node)
    return tuple(
        NodeGroup(
            pool=pool,
            gpu=f"{part} of {gpu}" if part != "shared" else f"shared {gpu}",
            gpus_per_node=0,
            nodes=len(members),
            takes_now=0,
            takes_empty=0,
            example=members[0].metadata.name,
            reasons=("its GPUs are parts of GPUs, announced as whole ones",),
        )
        for (pool, gpu, part), members in by_kind.items()
    )


def _group(
    kind: tuple[str, str, int],
    nodes: Sequence[Node],
    pod: Pod,
    now: set[str],
    empty: set[str],
    refused: Mapping[str, Refusal],
    required: int | None,
) -> NodeGroup:
    pool, gpu, count = kind
    names = [node.metadata.name for node in nodes]
    away = {name: refused[name] for name in names if name in refused}
    tainted = next(
        (node for node in nodes if (found := away.get(node.metadata.name)) and found.plugin == _TAINTED), None
    )
    known = find_gpu(gpu)
    takes = [name for name in names if name in now]
    return NodeGroup(
        pool=pool,
        gpu=gpu,
        gpus_per_node=count,
        nodes=len(nodes),
        takes_now=len(takes),
        takes_empty=sum(name in empty for name in names),
        example=(takes or names)[0],
        reasons=reasons_of(away),
        taints=tuple(map(taint_text, untolerated_taints(pod, tainted))) if tainted is not None else (),
        memory_fits=None if known is None or required is None else required <= gpu_facts(known).usable_bytes,
        to_come=sum(map(is_to_come, nodes)),
    )


def _carried(pod: Pod) -> tuple[str, ...]:
    """Labels and tolerations the pod brings along to get there."""
    labels = [f"label {key}={value}" for key, value in pod.spec.node_selector.items()]
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity else None
    terms = affinity.required_during_scheduling_ignored_during_execution if affinity else None
    lines = [line for term in (terms.node_selector_terms if terms else ()) for line in term.match_expressions]
    use = spot_use(pod)
    labels += [
        f"label {line.key} {line.operator} {', '.join(line.values)}"
        for line in lines
        if line.key not in SPOT_LABELS
    ]
    labels += {"never": ["no spot nodes"], "only": ["spot nodes only"]}.get(use, [])
    standard = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
    tolerated = [
        f"tolerates {toleration.key or 'everything'}"
        for toleration in pod.spec.tolerations
        if toleration.key not in standard and toleration.key not in SPOT_LABELS
    ]
    return (*dict.fromkeys(labels), *dict.fromkeys(tolerated))
