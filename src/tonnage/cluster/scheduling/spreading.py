"""PodTopologySpread: keep pods of one kind evenly over zones, racks or nodes.

A constraint counts matching pods per value of a node label. `DoNotSchedule` refuses a node that would
lead the emptiest domain by more than `maxSkew`; `ScheduleAnyway` only lowers its score. Pods that belong
to a Service or a set and say nothing get two mild constraints by default (hostname and zone), which only
score.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from tonnage.cluster.messages.scheduling_reasons import SPREAD, SPREAD_LABEL_MISSING
from tonnage.cluster.objects import LabelSelector, Pod
from tonnage.cluster.objects.loose import Loose
from tonnage.cluster.objects.pod import TopologySpread
from tonnage.cluster.scheduling.facts import PodFacts
from tonnage.cluster.scheduling.refusing import Refusal
from tonnage.cluster.scheduling.rule import Rule
from tonnage.cluster.scheduling.selecting import (
    EVERYTHING,
    Labels,
    Selector,
    equal_to,
    required_node_affinity_matches,
    selector_of,
)
from tonnage.cluster.scheduling.tainting import untolerated_taints
from tonnage.cluster.scheduling.view import ClusterView, NodeInfo

PLUGIN = "PodTopologySpread"
HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
SYSTEM_DEFAULTS = (
    TopologySpread(max_skew=3, topology_key=HOSTNAME, when_unsatisfiable="ScheduleAnyway"),
    TopologySpread(max_skew=5, topology_key=ZONE, when_unsatisfiable="ScheduleAnyway"),
)
MAX_SCORE = 100


class Constraint(msgspec.Struct, frozen=True):
    """One spread constraint, ready to count with."""

    max_skew: int
    key: str
    selector: Selector
    min_domains: int = 1
    honours_affinity: bool = True
    honours_taints: bool = False

    def counts_node(self, pod: Pod, info: NodeInfo) -> bool:
        """Whether the node takes part: by default all that the pod's node affinity allows, tainted or not."""
        if self.honours_affinity and not required_node_affinity_matches(pod, info.node):
            return False
        return not (self.honours_taints and untolerated_taints(pod, info.node))


def constraints_of(pod: Pod, action: str) -> tuple[Constraint, ...]:
    """The pod's own constraints of one kind (`DoNotSchedule` or `ScheduleAnyway`)."""
    return tuple(
        _constraint(pod, written)
        for written in pod.spec.topology_spread_constraints
        if written.when_unsatisfiable == action
    )


def has_all_labels(labels: Labels, constraints: Iterable[Constraint]) -> bool:
    return all(constraint.key in labels for constraint in constraints)


def matching_pods(info: NodeInfo, selector: Selector, namespace: str) -> int:
    """Pods of the namespace that match and are not leaving; an empty selector counts none."""
    if selector.matches_everything:
        return 0
    return sum(
        pod.namespace == namespace and not pod.terminating and selector.matches(pod.labels)
        for pod in info.pods.values()
    )


class TopologySpreadRule(Rule):
    plugin = PLUGIN
    asked: PodFacts
    constraints: tuple[Constraint, ...]
    counts: list[dict[str, int]]
    """Per constraint: matching pods by domain."""

    def check(self, info: NodeInfo) -> Refusal | None:
        for constraint, counts in zip(self.constraints, self.counts, strict=True):
            domain = info.labels.get(constraint.key)
            if domain is None:
                return Refusal(self.plugin, (SPREAD_LABEL_MISSING,))
            emptiest = min(counts.values(), default=0) if len(counts) >= constraint.min_domains else 0
            own = constraint.selector.matches(self.asked.labels)
            if counts.get(domain, 0) + own - emptiest > constraint.max_skew:
                return Refusal(self.plugin, (SPREAD,), resolvable=True)
        return None

    def pod_changed(self, pod: PodFacts, info: NodeInfo, by: int) -> None:
        # Unlike the first count, this one counts leaving pods and empty selectors: so does Kubernetes.
        if pod.namespace != self.asked.namespace or not has_all_labels(info.labels, self.constraints):
            return
        for constraint, counts in zip(self.constraints, self.counts, strict=True):
            if constraint.selector.matches(pod.labels) and constraint.counts_node(self.asked.pod, info):
                domain = info.labels[constraint.key]
                counts[domain] = counts.get(domain, 0) + by

    def copy(self) -> TopologySpreadRule:
        return TopologySpreadRule(self.asked, self.constraints, [dict(counts) for counts in self.counts])


def prepare_spread(pod: PodFacts, view: ClusterView) -> Rule | None:
    constraints = constraints_of(pod.pod, "DoNotSchedule")
    if not constraints:
        return None
    counts: list[dict[str, int]] = [{} for _ in constraints]
    for info in view.nodes.values():
        if not has_all_labels(info.labels, constraints):
            continue
        for constraint, by_domain in zip(constraints, counts, strict=True):
            if constraint.counts_node(pod.pod, info):
                domain = info.labels[constraint.key]
                here = matching_pods(info, constraint.selector, pod.namespace)
                by_domain[domain] = by_domain.get(domain, 0) + here
    return TopologySpreadRule(pod, constraints, counts)


def spread_scores(pod: PodFacts, view: ClusterView, feasible: Sequence[NodeInfo]) -> dict[str, int] | None:
    """Each feasible node's score from 0 to 100, or None where nothing asks for spreading."""
    own = bool(pod.pod.spec.topology_spread_constraints)
    constraints = constraints_of(pod.pod, "ScheduleAnyway") if own else default_constraints(pod.pod, view)
    if not constraints:
        return None
    ignored = {info.name for info in feasible if own and not has_all_labels(info.labels, constraints)}
    scored = [info for info in feasible if info.name not in ignored]
    counts = _domain_counts(pod, view, scored, constraints, need_all_labels=own)
    weights = [
        math.log((len(scored) if constraint.key == HOSTNAME else len(by_domain)) + 2)
        for constraint, by_domain in zip(constraints, counts, strict=True)
    ]
    raw = {info.name: _raw_score(pod, info, constraints, counts, weights) for info in scored}
    return _reversed(raw, ignored)


def default_constraints(pod: Pod, view: ClusterView) -> tuple[Constraint, ...]:
    """The two system defaults with the selector of the pod's services and set; none for a pod of neither."""
    selector = default_selector(pod, view)
    if selector.matches_everything:
        return ()
    return tuple(
        Constraint(max_skew=default.max_skew, key=default.topology_key, selector=selector)
        for default in SYSTEM_DEFAULTS
    )


def default_selector(pod: Pod, view: ClusterView) -> Selector:
    """What the pod's services and its ReplicaSet, StatefulSet or controller select, all together."""
    merged: dict[str, str] = {}
    for service in view.owners.services:
        wanted = service.spec.get("selector")
        if service.metadata.namespace != pod.metadata.namespace or wanted is None:
            continue
        if all(pod.metadata.labels.get(key) == value for key, value in wanted.items()):
            merged |= wanted
    owner = next((ref for ref in pod.metadata.owner_references if ref.controller), None)
    sets = {"ReplicaSet": view.owners.replica_sets, "StatefulSet": view.owners.stateful_sets}
    found = _named(sets.get(owner.kind, ()), pod.metadata.namespace, owner.name) if owner else None
    selector = Selector(equal_to(merged)) if merged else EVERYTHING
    if found is None:
        return selector
    own = selector_of(msgspec.convert(found.spec.get("selector"), LabelSelector | None))
    return Selector((*selector.requirements, *own.requirements))


def _named(objects: Iterable[Loose], namespace: str, name: str) -> Loose | None:
    for item in objects:
        if (item.metadata.namespace, item.metadata.name) == (namespace, name):
            return item
    return None


def _constraint(pod: Pod, written: TopologySpread) -> Constraint:
    labels: dict[str, Any] = pod.metadata.labels
    keys = {key: labels[key] for key in written.match_label_keys if key in labels}
    selector = selector_of(written.label_selector)
    return Constraint(
        max_skew=written.max_skew,
        key=written.topology_key,
        selector=selector.joined(keys) if keys else selector,
        min_domains=1 if written.min_domains is None else written.min_domains,
        honours_affinity=(written.node_affinity_policy or "Honor") == "Honor",
        honours_taints=written.node_taints_policy == "Honor",
    )


def _domain_counts(
    pod: PodFacts,
    view: ClusterView,
    scored: Sequence[NodeInfo],
    constraints: Sequence[Constraint],
    *,
    need_all_labels: bool,
) -> list[dict[str, int]]:
    """Matching pods per domain of the feasible nodes, over all nodes; hosts are counted later."""
    counts: list[dict[str, int]] = [
        {} if c.key == HOSTNAME else {info.labels.get(c.key, ""): 0 for info in scored} for c in constraints
    ]
    for info in view.nodes.values():
        if need_all_labels and not has_all_labels(info.labels, constraints):
            continue
        for constraint, by_domain in zip(constraints, counts, strict=True):
            domain = info.labels.get(constraint.key, "")
            if domain in by_domain and constraint.counts_node(pod.pod, info):
                by_domain[domain] += matching_pods(info, constraint.selector, pod.namespace)
    return counts


def _raw_score(
    pod: PodFacts,
    info: NodeInfo,
    constraints: Sequence[Constraint],
    counts: Sequence[dict[str, int]],
    weights: Sequence[float],
) -> int:
    score = 0.0
    for constraint, by_domain, weight in zip(constraints, counts, weights, strict=True):
        if constraint.key not in info.labels:
            continue
        if constraint.key == HOSTNAME:
            count = matching_pods(info, constraint.selector, pod.namespace)
        else:
            count = by_domain[info.labels[constraint.key]]
        score += count * weight + (constraint.max_skew - 1)
    whole = math.floor(score)
    return whole + (score - whole >= 0.5)


def _reversed(raw: dict[str, int], ignored: set[str]) -> dict[str, int]:
    """Few matching pods score high; nodes without the labels score nothing."""
    scores = dict.fromkeys(ignored, 0)
    highest, lowest = max(raw.values(), default=0), min(raw.values(), default=0)
    for name, score in raw.items():
        scores[name] = MAX_SCORE if highest == 0 else MAX_SCORE * (highest + lowest - score) // highest
    return scores
