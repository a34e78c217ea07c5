"""The four priorities Tonnage knows, as PriorityClasses for clusters that lack them.

`normal` ranks like a pod without a class, so that making it disturbs nobody. `low` stays above -11: below that the
cluster autoscaler starts no node for a pod, and takes its node away.
"""

from __future__ import annotations

from tonnage.manifests.request import Manifest, RenderRequest
from tonnage.planning.workload.template import OUR_PRIORITIES

VALUES = {"critical": 1_000_000, "high": 100_000, "normal": 0, "low": -10}
_MEANING = {
    "critical": "Runs that must not stop; pushes out everything below.",
    "high": "Important runs; pushes out what ranks below.",
    "normal": "As a pod without a class; pushes nobody out.",
    "low": "Anybody may push it out; pushes nobody out.",
}


def priority_class(request: RenderRequest) -> list[Manifest]:
    """The run's class, where it is one of ours, is known to be missing, and may be made."""
    name, known = request.run.spec.priority, request.facts.priority_classes
    if name not in OUR_PRIORITIES or known is None or name in known:
        return []
    if not request.facts.may_make_priority_classes:
        return []
    return [
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": name, "labels": {"app.kubernetes.io/managed-by": "tonnage"}},
            "value": VALUES[name],
            "globalDefault": False,
            "preemptionPolicy": "PreemptLowerPriority" if VALUES[name] > 0 else "Never",
            "description": _MEANING[name],
        }
    ]


def notes_on_rank(request: RenderRequest) -> list[str]:
    """Where the class had to be left out."""
    name, known = request.run.spec.priority, request.facts.priority_classes
    if name not in OUR_PRIORITIES or (known is not None and name in known):
        return []
    if known is None:
        return [f"priority {name}: the cluster's priority classes could not be seen; the pods name none"]
    if not request.facts.may_make_priority_classes:
        return [f"priority {name}: there is no such PriorityClass and it may not be made; the pods name none"]
    return []
