"""Simulated nodes: real objects in the real API server, with KWOK in the kubelets' place.

KWOK keeps their leases, reports them Ready and lets their pods run, end and go away as the stages in
`manifests/` say. Only nodes with its annotation are its business, so real nodes can stand beside them; then
simulated ones carry a taint that a workload must tolerate to be simulated.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tonnage.cluster.shapes import nodes_from_shapes
from tonnage.sandbox.api import Api, Object
from tonnage.sandbox.processes import start, wait_until
from tonnage.sandbox.state import Sandbox

ANNOTATION = "kwok.x-k8s.io/node"
NOT_READY = "tonnage.dev/not-ready"
"""A node with this annotation is left as it was created: the twin of one that was not ready."""
TAINT = {"key": ANNOTATION, "value": "fake", "effect": "NoSchedule"}
_MANIFESTS = Path(__file__).parent / "manifests"
# Away from service and real pod addresses; room for four million simulated pods.
_POD_RANGE = "10.128.0.0/10"
_LEAST_PATIENCE_SECONDS = 90
_SECONDS_PER_NODE = 0.3
_CONFIGURATION = """\
apiVersion: config.kwok.x-k8s.io/v1alpha1
kind: KwokConfiguration
options:
  podPlayStageParallelism: 16
  nodePlayStageParallelism: 16
  nodeLeaseParallelism: 4
  podsOnNodeSyncParallelism: 16
"""


def start_kwok(sandbox: Sandbox) -> None:
    """Install the stages and start KWOK."""
    for name in ("kwok-stage-crd.yaml", "kwok-stages.yaml"):
        sandbox.api.apply_yaml((_MANIFESTS / name).read_text())
    # A configuration of our own, or KWOK would read the user's.
    config = sandbox.places.run / "kwok.yaml"
    config.write_text(_CONFIGURATION)
    flags = {
        "kubeconfig": str(sandbox.kubeconfig_for("kwok", common_name="kwok")),
        "config": str(config),
        "manage-all-nodes": "false",
        "manage-nodes-with-annotation-selector": f"{ANNOTATION}=fake",
        "enable-crds": "Stage",
        "node-lease-duration-seconds": "8" if sandbox.request.fast_node_loss else "40",
        "server-address": f"127.0.0.1:{sandbox.port('kwok')}",
        "cidr": _POD_RANGE,
        "node-ip": "127.0.0.1",
        "node-port": str(sandbox.port("kwok")),
    }
    argv = [str(sandbox.binary("kwok")), *(f"--{flag}={value}" for flag, value in flags.items())]
    workdir = str(sandbox.places.folder("run/kwok"))
    start(sandbox, "kwok", argv, tier="plane", env={"KWOK_WORKDIR": workdir, "HOME": workdir}, restart=True)


def create_nodes(sandbox: Sandbox) -> int:
    """Create the simulated nodes that were asked for; return how many."""
    nodes = list(nodes_from_shapes(sandbox.request.shapes()))
    create_fake_nodes(sandbox.api, nodes, is_tainted=sandbox.request.real_nodes > 0)
    return len(nodes)


def create_fake_nodes(api: Api, nodes: Iterable[Object], *, is_tainted: bool) -> None:
    """Create Node objects for KWOK to manage, several at a time."""
    api.each(api.create, (_tainted(node) if is_tainted else node for node in nodes))


def wait_for_nodes(sandbox: Sandbox, count: int) -> None:
    """Return when every simulated node is Ready and free of the taint new nodes start with."""
    wait_until(
        sandbox,
        "kwok",
        lambda: _all_ready(sandbox.api),
        seconds=patience_with(count),
        what=f"reports all {count:,} nodes Ready",
    )


def patience_with(nodes: int) -> float:
    """Seconds that so many nodes may take to become Ready: several times what two busy cores need."""
    return _LEAST_PATIENCE_SECONDS + nodes * _SECONDS_PER_NODE


def _all_ready(api: Api) -> bool:
    nodes = api.list("/api/v1/nodes?resourceVersion=0")
    managed = [node for node in nodes if ANNOTATION in node["metadata"].get("annotations", {})]
    return all(_is_ready(node) or NOT_READY in node["metadata"]["annotations"] for node in managed)


def _is_ready(node: dict[str, Any]) -> bool:
    conditions = node.get("status", {}).get("conditions") or []
    is_ready = any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)
    taints = [taint["key"] for taint in node["spec"].get("taints", [])]
    return is_ready and "node.kubernetes.io/not-ready" not in taints


def _tainted(node: Object) -> Object:
    spec = node.get("spec", {})
    return {**node, "spec": {**spec, "taints": [*spec.get("taints", []), TAINT]}}
