"""The kubelet's own admission: what a node refuses although a pod is bound to it.

The scheduler chose the node, but the node decides for itself, in this order: pressure, then devices and
NUMA (known only to the node, so not modelled here), then the scheduler's basic filters once more against
the pods it really has. A refused pod is Failed at once and never moves; only a controller makes another.

A kubelet that restarts asks again about the pods it finds running: under disk or process pressure it
refuses those too.

Extended resources that the node does not know are dropped before the check: a pod bound by hand to a node
without GPUs is *not* refused for its GPU request. Read in `kubelet/eviction` (`Admit`) and
`kubelet/lifecycle/predicate.go`.
"""

from __future__ import annotations

from collections.abc import Iterable

from tonnage.cluster.admission.resource_names import is_extended
from tonnage.cluster.messages.eviction import NodeHadCondition
from tonnage.cluster.messages.rejection import OutOf, PredicateFailed, Rejection
from tonnage.cluster.messages.scheduling_reasons import PORTS_TAKEN
from tonnage.cluster.node.sparing import is_critical, is_static
from tonnage.cluster.node.thresholds import PRESSURES
from tonnage.cluster.objects import Node, Pod
from tonnage.cluster.objects.node import Taint
from tonnage.cluster.qos import qos_class
from tonnage.cluster.resources import Amounts, add_to, amounts, pod_requests
from tonnage.cluster.scheduling.facts import ANY_ADDRESS, facts_of
from tonnage.cluster.scheduling.selecting import required_node_affinity_matches
from tonnage.cluster.scheduling.tainting import tolerated
from tonnage.units import ZERO, Quantity

MEMORY_PRESSURE_TAINT = Taint(key=PRESSURES["MemoryPressure"].taint, effect="NoSchedule")
_NO_MATCH = "node(s) didn't match Pod's node affinity/selector"
# Not the scheduler's newer words: the kubelet kept these.
_TAINTED = "node(s) had taints that the pod didn't tolerate"


def kubelet_rejection(
    pod: Pod, node: Node, others: Iterable[Pod], *, pressure: Iterable[str] = ()
) -> Rejection | None:
    """Why the node refuses the pod beside the active `others`; None when it is let in."""
    refused = pressure_rejection(pod, pressure)
    if refused is not None:
        return refused
    beside = [other for other in others if other.status.phase not in {"Succeeded", "Failed"}]
    short = shortages(pod, node, beside)
    # A critical pod is not refused for want of room: the kubelet evicts others for it.
    if short and not is_critical(pod):
        return short[0]
    if not required_node_affinity_matches(pod, node):
        return PredicateFailed("NodeAffinity", _NO_MATCH)
    if _port_clashes(pod, beside):
        return PredicateFailed("NodePorts", PORTS_TAKEN)
    if not is_static(pod) and any(
        taint.effect == "NoExecute" and not tolerated(pod.spec.tolerations, taint)
        for taint in node.spec.taints
    ):
        return PredicateFailed("TaintToleration", _TAINTED)
    return None


def pressure_rejection(pod: Pod, pressure: Iterable[str]) -> NodeHadCondition | None:
    """Whether a node with these pressure conditions refuses the pod."""
    conditions = tuple(pressure)
    if not conditions or is_critical(pod):
        return None
    if conditions == ("MemoryPressure",):
        if qos_class(pod) != "BestEffort":
            return None
        if tolerated(pod.spec.tolerations, MEMORY_PRESSURE_TAINT):
            return None
    return NodeHadCondition(conditions)


def shortages(pod: Pod, node: Node, others: Iterable[Pod]) -> tuple[OutOf, ...]:
    """Every resource of which too little is left, in the order they are checked."""
    allocatable = amounts(node.status.allocatable)
    beside = [other for other in others if other.status.phase not in {"Succeeded", "Failed"}]
    used: Amounts = {}
    for other in beside:
        add_to(used, pod_requests(other))
    found = []
    room = allocatable.get("pods", ZERO).value()
    if len(beside) + 1 > room:
        found.append(OutOf("pods", 1, len(beside), room))
    wanted = pod_requests(pod)
    for name in (*_FIRST, *sorted(set(wanted) - set(_FIRST))):
        if name in wanted and (name in allocatable or not is_extended(name)):
            asked, taken, total = (
                _count(name, amount.get(name, ZERO)) for amount in (wanted, used, allocatable)
            )
            if asked > 0 and asked > total - taken:
                found.append(OutOf(name, asked, taken, total))
    return tuple(found)


_FIRST = ("cpu", "memory", "ephemeral-storage")


def _port_clashes(pod: Pod, others: Iterable[Pod]) -> bool:
    """Whether a host port is taken; one on any address clashes with one on every address."""
    taken = [port for other in others for port in facts_of(other).ports]
    return any(
        (mine.protocol, mine.port) == (other.protocol, other.port)
        and (mine.address == other.address or ANY_ADDRESS in {mine.address, other.address})
        for mine in facts_of(pod).ports
        for other in taken
    )


def _count(name: str, quantity: Quantity) -> int:
    return quantity.milli() if name == "cpu" else quantity.value()
