"""NodeAffinity: where a pod's own selector and node affinity let it go, and which nodes it prefers.

One case is special: a pod that names its nodes by `metadata.name` (as DaemonSet pods do) makes the
scheduler look at those alone; all others are told `didn't satisfy plugin(s) [NodeAffinity]` without being
looked at.
"""

from __future__ import annotations

from tonnage.cluster.messages.scheduling_reasons import AFFINITY_CONFLICT, NODE_AFFINITY
from tonnage.cluster.objects import Node, Pod
from tonnage.cluster.objects.pod import NodeSelector, NodeSelectorTerm
from tonnage.cluster.scheduling.facts import PodFacts
from tonnage.cluster.scheduling.refusing import Refusal, Stopped
from tonnage.cluster.scheduling.rule import Rule
from tonnage.cluster.scheduling.selecting import (
    required_node_affinity_matches,
    required_node_selector,
    term_matches,
)
from tonnage.cluster.scheduling.view import ClusterView, NodeInfo

PLUGIN = "NodeAffinity"


class NodeAffinity(Rule):
    plugin = PLUGIN
    pod: Pod
    named: frozenset[str] | None

    def check(self, info: NodeInfo) -> Refusal | None:
        if required_node_affinity_matches(self.pod, info.node):
            return None
        return Refusal(self.plugin, (NODE_AFFINITY,))

    def only_nodes(self) -> frozenset[str] | None:
        return self.named


def prepare_node_affinity(pod: PodFacts, _view: ClusterView) -> Rule | Stopped | None:
    required = required_node_selector(pod.pod)
    if required is None and not pod.pod.spec.node_selector:
        return None
    named = _nodes_by_name(required) if required is not None else None
    if named is not None and not named:
        return Stopped(PLUGIN, AFFINITY_CONFLICT)
    return NodeAffinity(pod.pod, named)


def preferred_weight(pod: Pod, node: Node) -> int | None:
    """The weights of the preferred terms that the node satisfies; None where the pod prefers nothing."""
    affinity = pod.spec.affinity
    preferred = (
        affinity.node_affinity.preferred_during_scheduling_ignored_during_execution
        if affinity and affinity.node_affinity
        else ()
    )
    if not preferred:
        return None
    labels, name = node.metadata.labels, node.metadata.name
    return sum(item.weight for item in preferred if term_matches(item.preference, labels, name))


def _nodes_by_name(required: NodeSelector) -> frozenset[str] | None:
    """The names all terms are limited to; None as soon as one term leaves the name open."""
    names: set[str] = set()
    for term in required.node_selector_terms:
        of_term = _names_of(term)
        if of_term is None:
            return None
        names |= of_term
    return frozenset(names) if required.node_selector_terms else None


def _names_of(term: NodeSelectorTerm) -> set[str] | None:
    names: set[str] | None = None
    for line in term.match_fields:
        if line.key == "metadata.name" and line.operator == "In":
            names = set(line.values) if names is None else names & set(line.values)
    return names
