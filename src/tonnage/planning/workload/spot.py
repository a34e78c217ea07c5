"""Capacity that can be taken back: how a pod wants or avoids nodes that clouds mark as such."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tonnage.cluster.objects import Pod
from tonnage.cost.pricing import SPOT_LABELS as _MARKS
from tonnage.planning.workload.value import SpotUse

Marks = Sequence[tuple[str, str]]
_WITH_KARPENTER = {"eks.amazonaws.com", "kubernetes.azure.com", "karpenter.k8s.aws"}
"""Domains of clouds whose nodes Karpenter may bring, under a label none of them carries yet."""
SPOT_LABELS = frozenset(name for name, _ in _MARKS)
"""The labels, and the taints of the same names, that say so."""


def spot_use(pod: Pod) -> SpotUse:
    """What a pod says about spot nodes: asks for them, tolerates them, or nothing."""
    selector = pod.spec.node_selector
    if any(selector.get(name) == value for name, value in _MARKS):
        return "only"
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity else None
    required = affinity.required_during_scheduling_ignored_during_execution if affinity else None
    spots = dict(_MARKS)
    terms = required.node_selector_terms if required else ()
    for line in [line for term in terms for line in term.match_expressions if line.key in spots]:
        if line.operator == "In":
            return (
                "only"
                if set(line.values) == {spots[line.key]}
                else "allowed"
                if spots[line.key] in line.values
                else "never"
            )
        if line.operator == "NotIn" and spots[line.key] in line.values:
            return "never"
    if any(toleration.key in spots for toleration in pod.spec.tolerations):
        return "allowed"
    return "unknown"


def marks_on(nodes: Iterable[Mapping[str, str]], *, only: bool = False) -> Marks:
    """The marks by which nodes with these labels, or others of the same cloud, may be told to be spot.

    With `only`, those that a node carries now: a pod that insists on one is sent where it exists.
    """
    seen = [dict(labels) for labels in nodes]
    carried = tuple(mark for mark in _MARKS if any(labels.get(mark[0]) == mark[1] for labels in seen))
    if only and carried:
        return carried
    domains = {key.partition("/")[0] for labels in seen for key in labels}
    if domains & _WITH_KARPENTER:
        domains.add("karpenter.sh")
    return tuple(mark for mark in _MARKS if mark[0].partition("/")[0] in domains) if not only else _MARKS


def spot_terms(use: SpotUse, marks: Marks = _MARKS) -> list[list[dict[str, Any]]]:
    """Node affinity for a choice, as alternatives of lines that must all hold; one empty one where any node does."""
    if use == "only":
        return [[{"key": name, "operator": "In", "values": [value]}] for name, value in marks] or [[]]
    if use == "never":
        return [[{"key": name, "operator": "NotIn", "values": [value]} for name, value in marks]]
    return [[]]


def spot_tolerations(use: SpotUse, marks: Marks = _MARKS) -> list[dict[str, str]]:
    """The taints that clouds put on spot nodes, tolerated."""
    if use not in ("allowed", "only"):
        return []
    return [
        {"key": name, "operator": "Equal", "value": value, "effect": "NoSchedule"} for name, value in marks
    ]
