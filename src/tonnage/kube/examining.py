"""Gathering what the doctor looks at: a snapshot, the API groups, the feature gates, and our permissions."""

from __future__ import annotations

import re

from tonnage.cluster.port import ClusterPort
from tonnage.errors import ForbiddenError, TonnageError
from tonnage.kube.client import KubeClient
from tonnage.kube.failing import Asked
from tonnage.kube.port import KubeCluster
from tonnage.reporting.doctor import Facts
from tonnage.reporting.doctor.permissions import needs

_GATE = re.compile(rb'^kubernetes_feature_enabled\{name="([^"]+)",stage="[^"]*"\} ([01])', re.MULTILINE)


def gather_facts(cluster: ClusterPort, namespace: str = "") -> Facts:
    """Everything the doctor may look at, of a live cluster or of a file."""
    if not isinstance(cluster, KubeCluster):
        why = f"a {cluster.target.kind} does not hold them"
        return Facts(snapshot=cluster.observe(namespace), gates_missing=why)
    snapshot, _ = cluster.look(namespace)
    groups = cluster.client.groups()
    asked = [permission for need in needs(namespace, frozenset(groups)) for permission in need.permissions]
    asked = list(dict.fromkeys(asked))
    gates, why = read_gates(cluster.client)
    return Facts(
        snapshot=snapshot,
        groups=groups,
        gates=gates,
        gates_missing=why,
        answers=list(zip(asked, cluster.may(asked), strict=True)),
    )


def read_gates(client: KubeClient) -> tuple[dict[str, bool] | None, str]:
    """Feature gates as the API server's metrics show them, or why they cannot be seen."""
    try:
        body = client.get("/metrics", Asked("get", "/metrics"))
    except ForbiddenError:
        return None, "you may not read the API server's /metrics"
    except TonnageError as error:
        return None, f"the API server's /metrics cannot be read: {error.problem.what}"
    gates = {name.decode(): value == b"1" for name, value in _GATE.findall(body)}
    return (gates, "") if gates else (None, "the API server's /metrics does not list them")
