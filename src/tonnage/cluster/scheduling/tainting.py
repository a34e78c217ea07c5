"""NodeUnschedulable, NodeName and TaintToleration: nodes that keep pods away on their own account.

From 1.35 the scheduler no longer says which taint it was; `untolerated_taints` tells it for the pod and
node at hand.
"""

from __future__ import annotations

from collections.abc import Iterable

from tonnage.cluster.messages.scheduling_reasons import OTHER_NODE_NAME, UNSCHEDULABLE, UNTOLERATED_TAINT
from tonnage.cluster.objects import Node, Pod, Taint, Toleration
from tonnage.cluster.scheduling.facts import PodFacts
from tonnage.cluster.scheduling.refusing import Refusal
from tonnage.cluster.scheduling.rule import Rule
from tonnage.cluster.scheduling.view import ClusterView, NodeInfo

REPELLING = frozenset({"NoSchedule", "NoExecute"})
DISCOURAGING = "PreferNoSchedule"
CORDONED = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Whether one toleration covers one taint; numeric operators are off by default and never match."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    match toleration.operator:
        case "" | "Equal":
            return toleration.value == taint.value
        case "Exists":
            return True
    return False


def tolerated(tolerations: Iterable[Toleration], taint: Taint) -> bool:
    return any(tolerates(toleration, taint) for toleration in tolerations)


def untolerated_taints(pod: Pod, node: Node) -> list[Taint]:
    """The taints that keep this pod off this node."""
    return [
        taint
        for taint in node.spec.taints
        if taint.effect in REPELLING and not tolerated(pod.spec.tolerations, taint)
    ]


def discouraging_taints(pod: Pod, node: Node) -> int:
    """How many PreferNoSchedule taints the pod does not tolerate: TaintToleration's raw score."""
    asked = [t for t in pod.spec.tolerations if t.effect in {"", DISCOURAGING}]
    return sum(taint.effect == DISCOURAGING and not tolerated(asked, taint) for taint in node.spec.taints)


class NodeUnschedulable(Rule):
    plugin = "NodeUnschedulable"
    comes_anyway: bool

    def check(self, info: NodeInfo) -> Refusal | None:
        if info.node.spec.unschedulable and not self.comes_anyway:
            return Refusal(self.plugin, (UNSCHEDULABLE,))
        return None


class NodeName(Rule):
    plugin = "NodeName"
    wanted: str

    def check(self, info: NodeInfo) -> Refusal | None:
        return None if info.name == self.wanted else Refusal(self.plugin, (OTHER_NODE_NAME,))


class TaintToleration(Rule):
    plugin = "TaintToleration"
    pod: Pod

    def check(self, info: NodeInfo) -> Refusal | None:
        if info.node.spec.taints and untolerated_taints(self.pod, info.node):
            return Refusal(self.plugin, (UNTOLERATED_TAINT,))
        return None


def prepare_unschedulable(pod: PodFacts, _view: ClusterView) -> Rule:
    return NodeUnschedulable(tolerated(pod.pod.spec.tolerations, CORDONED))


def prepare_node_name(pod: PodFacts, _view: ClusterView) -> Rule | None:
    return NodeName(pod.pod.spec.node_name) if pod.pod.spec.node_name else None


def prepare_taints(pod: PodFacts, _view: ClusterView) -> Rule:
    return TaintToleration(pod.pod)
