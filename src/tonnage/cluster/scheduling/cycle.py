"""One pod's pass over the nodes: every rule prepared once, each node asked in the real order.

The first rule that refuses a node is the only one reported for it, so the order of `PREPARE` decides what
people read. Nodes to which a pending pod of equal or higher priority was promised are asked twice, with
and without that pod.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from tonnage.cluster.scheduling.attracting import PLUGIN as NODE_AFFINITY
from tonnage.cluster.scheduling.attracting import prepare_node_affinity
from tonnage.cluster.scheduling.facts import PodFacts
from tonnage.cluster.scheduling.fitting import prepare_fit, prepare_ports
from tonnage.cluster.scheduling.neighbours import prepare_neighbours
from tonnage.cluster.scheduling.refusing import Refusal, Stopped
from tonnage.cluster.scheduling.rule import Prepare, Rule
from tonnage.cluster.scheduling.spreading import prepare_spread
from tonnage.cluster.scheduling.tainting import prepare_node_name, prepare_taints, prepare_unschedulable
from tonnage.cluster.scheduling.view import ClusterView, NodeInfo
from tonnage.cluster.scheduling.volume_binding import prepare_volume_binding, prepare_volume_zone
from tonnage.cluster.scheduling.volume_use import prepare_volume_limits, prepare_volume_restrictions

PREPARE: tuple[Prepare, ...] = (
    prepare_unschedulable,
    prepare_node_name,
    prepare_taints,
    prepare_node_affinity,
    prepare_ports,
    prepare_fit,
    prepare_volume_restrictions,
    prepare_volume_limits,
    prepare_volume_binding,
    prepare_volume_zone,
    prepare_spread,
    prepare_neighbours,
)


class Cycle(msgspec.Struct):
    """The rules prepared for one pod in one cluster."""

    asked: PodFacts
    view: ClusterView
    rules: list[Rule]

    def narrowed_to(self) -> frozenset[str] | None:
        """The only nodes worth looking at, where the pod names them."""
        for rule in self.rules:
            if (names := rule.only_nodes()) is not None:
                return names
        return None

    def check(self, info: NodeInfo) -> Refusal | None:
        """Why the node will not do, promised pods considered."""
        promised = self._promised(info.name)
        if promised:
            crowded, trial = info.copy(), self.copy()
            for pod in promised:
                crowded.add(pod)
                trial.pod_changed(pod, crowded, +1)
            if (refusal := trial.check_alone(crowded)) is not None:
                return refusal
        return self.check_alone(info)

    def check_alone(self, info: NodeInfo) -> Refusal | None:
        for rule in self.rules:
            if (refusal := rule.check(info)) is not None:
                return refusal
        return None

    def pod_changed(self, pod: PodFacts, info: NodeInfo, by: int) -> None:
        for rule in self.rules:
            rule.pod_changed(pod, info, by)

    def copy(self) -> Cycle:
        return Cycle(self.asked, self.view, [rule.copy() for rule in self.rules])

    def _promised(self, node: str) -> list[PodFacts]:
        return [
            pod
            for key, pod in self.view.nominated.get(node, {}).items()
            if key != self.asked.key and pod.priority >= self.asked.priority
        ]


class Filtered(msgspec.Struct, frozen=True):
    """What filtering found: the nodes that will do, and why each other one will not."""

    feasible: tuple[NodeInfo, ...]
    refused: dict[str, Refusal]
    passed_over: int = 0
    """Nodes never looked at because the pod names others."""
    narrowed_by: tuple[str, ...] = ()
    """The plugins that those nodes hear of: the one that names the others, and, by an oversight of the
    scheduler's, the one that refused the node promised to this pod."""


def prepare(pod: PodFacts, view: ClusterView) -> Cycle | Stopped:
    """Prepare every rule for the pod; a rule may stop the attempt before any node is looked at."""
    rules: list[Rule] = []
    for make in PREPARE:
        match make(pod, view):
            case Stopped() as stopped:
                return stopped
            case Rule() as rule:
                rules.append(rule)
    return Cycle(pod, view, rules)


def filter_nodes(cycle: Cycle) -> Filtered:
    """Ask every node (or those the pod names). A node promised to this pod is taken at once if it will do."""
    nodes = cycle.view.nodes
    feasible: list[NodeInfo] = []
    refused: dict[str, Refusal] = {}
    promised = nodes.get(cycle.asked.pod.status.nominated_node_name)
    if promised is not None:
        refusal = cycle.check(promised)
        if refusal is None:
            return Filtered((promised,), {})
        refused[promised.name] = refusal  # it stands even where the pod names other nodes
    only = cycle.narrowed_to()
    looked_at: Iterable[NodeInfo] = (
        nodes.values() if only is None else [nodes[name] for name in only if name in nodes]
    )
    narrowing = {NODE_AFFINITY} | {refusal.plugin for refusal in refused.values()} if only is not None else ()
    for info in looked_at:
        refusal = cycle.check(info)
        if refusal is None:
            feasible.append(info)
        else:
            refused[info.name] = refusal
    passed_over = len(nodes) - len(feasible) - len(refused)
    return Filtered(tuple(feasible), refused, passed_over, tuple(sorted(narrowing)))
