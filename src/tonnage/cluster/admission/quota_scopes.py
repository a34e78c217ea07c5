"""Quota scopes: which pods and claims a scoped quota sees at all.

All scopes of a quota must match, and what is outside is not limited by it: a scope narrows a quota, it does
not reserve anything. Priority classes match by exact name, existing or not, so a misspelt class makes a
quota that sees nobody.
"""

from __future__ import annotations

from collections.abc import Iterable

from tonnage.cluster.objects import Pod, ResourceQuota
from tonnage.cluster.objects.pod import PodAffinity
from tonnage.cluster.objects.policy import ScopeRequirement
from tonnage.cluster.qos import BEST_EFFORT, qos_class


def is_in_all_scopes(pod: Pod, quota: ResourceQuota) -> bool:
    """Whether every scope of the quota takes the pod in."""
    return all(is_in_scope(pod, scope) for scope in scopes(quota))


def takes_claims(quota: ResourceQuota) -> bool:
    """Whether its scopes take in a claim without a VolumeAttributesClass: only by asking for its absence."""
    return all(s.scope_name == "VolumeAttributesClass" and _selects(s, "") for s in scopes(quota))


def scopes(quota: ResourceQuota) -> tuple[ScopeRequirement, ...]:
    """Every scope of the quota in one form; all of them must match."""
    plain = tuple(ScopeRequirement(scope_name=name, operator="Exists") for name in quota.spec.scopes)
    selector = quota.spec.scope_selector
    return plain + (selector.match_expressions if selector is not None else ())


def is_in_scope(pod: Pod, scope: ScopeRequirement) -> bool:
    """Whether one scope takes the pod in."""
    match scope.scope_name:
        case "Terminating" | "NotTerminating":
            deadline = pod.spec.active_deadline_seconds
            return (deadline is not None and deadline >= 0) == (scope.scope_name == "Terminating")
        case "BestEffort" | "NotBestEffort":
            return (qos_class(pod) == BEST_EFFORT) == (scope.scope_name == "BestEffort")
        case "PriorityClass":
            return _selects(scope, pod.spec.priority_class_name)
        case "CrossNamespacePodAffinity":
            return _reaches_across(pod)
        case _:
            return False


def _selects(scope: ScopeRequirement, name: str) -> bool:
    """A label selector on one name; an absent name is outside In and inside NotIn."""
    match scope.operator:
        case "In":
            return bool(name) and name in scope.values
        case "NotIn":
            return not name or name not in scope.values
        case "Exists":
            return bool(name)
        case _:
            return not name


def _reaches_across(pod: Pod) -> bool:
    """Whether any affinity term looks at pods of other namespaces."""
    affinity = pod.spec.affinity
    if affinity is None:
        return False

    def terms(side: PodAffinity) -> Iterable[bool]:
        for term in side.required_during_scheduling_ignored_during_execution:
            yield bool(term.namespaces) or term.namespace_selector is not None
        for weighted in side.preferred_during_scheduling_ignored_during_execution:
            term = weighted.pod_affinity_term
            yield bool(term.namespaces) or term.namespace_selector is not None

    sides = (affinity.pod_affinity, affinity.pod_anti_affinity)
    return any(across for side in sides if side is not None for across in terms(side))
