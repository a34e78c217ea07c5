"""What one question to the scheduler is: a small cluster and a pod that comes to it.

Everything is plain JSON, as it would be sent, so that a question that divides us from Kubernetes can be
made smaller by dropping parts of it and be read by anyone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Object = dict[str, Any]

KINDS: dict[str, str] = {
    "nodes": "/api/v1/nodes",
    "pods": "/api/v1/namespaces/{ns}/pods",
    "claims": "/api/v1/namespaces/{ns}/persistentvolumeclaims",
    "volumes": "/api/v1/persistentvolumes",
    "classes": "/apis/storage.k8s.io/v1/storageclasses",
    "budgets": "/apis/policy/v1/namespaces/{ns}/poddisruptionbudgets",
    "services": "/api/v1/namespaces/{ns}/services",
    "replicaSets": "/apis/apps/v1/namespaces/{ns}/replicasets",
    "csiNodes": "/apis/storage.k8s.io/v1/csinodes",
    "csiDrivers": "/apis/storage.k8s.io/v1/csidrivers",
    "capacities": "/apis/storage.k8s.io/v1/namespaces/{ns}/csistoragecapacities",
}
NAMESPACES: dict[str, dict[str, str]] = {
    "alpha": {"team": "red"},
    "beta": {"team": "blue", "cost": "low"},
}


@dataclass(kw_only=True)
class Scenario:
    """A cluster to be made: objects by kind, with the status and the fate each should have."""

    objects: dict[str, list[Object]] = field(default_factory=lambda: {kind: [] for kind in KINDS})
    turn: int = 0
    """The number of the question being made, over all clusters: rare kinds of trouble take turns."""
    questions: list[Object] = field(default_factory=list)
    """Each with `pod`, some with `nominated` (a node promised before), `claims` (its own), `rival`."""

    def single(self, question: Object) -> Object:
        """One question with its cluster, as one value that can be shrunk."""
        return {"cluster": self.objects, **question}


def scenario_of(value: Object) -> Scenario:
    """A (shrunk) value as a scenario again."""
    cluster = value.get("cluster", {})
    rest = {key: part for key, part in value.items() if key != "cluster"}
    return Scenario(objects={kind: cluster.get(kind, []) for kind in KINDS}, questions=[rest])


PRIORITIES: dict[str, int] = {"bottom": -10, "none": 0, "low": 100, "middle": 1000, "high": 5000, "top": 9000}
"""Priority classes in the test cluster; `meek` is `top` without the right to preempt."""
