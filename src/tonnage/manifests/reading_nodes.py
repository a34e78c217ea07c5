"""What nodes and other people's pods say that objects depend on: devices, cards for RDMA, nearness, who scrapes."""

from __future__ import annotations

from collections.abc import Sequence

from tonnage.cluster.objects import Node
from tonnage.manifests.request import NodeTerm
from tonnage.planning.answers import Plan
from tonnage.planning.workload.template import Terms
from tonnage.units import try_quantity

NEAR = (
    "topology.kubernetes.io/zone",
    "cloud.google.com/gce-topology-block",
    "cloud.google.com/gce-topology-subblock",
    "topology.k8s.aws/network-node-layer-1",
    "topology.k8s.aws/network-node-layer-2",
    "topology.k8s.aws/network-node-layer-3",
    "network.topology.nvidia.com/spine",
    "network.topology.nvidia.com/leaf",
    "topology.kubernetes.io/rack",
    "nvidia.com/gpu.clique",
)
"""Labels that say how close two nodes are, the widest first."""
SCRAPER_LABEL = "app.kubernetes.io/name"
SCRAPERS = ("prometheus", "vmagent", "alloy", "grafana-agent", "opentelemetry-collector")
"""What reads metrics calls itself so, by the label its charts and operators set."""
_RDMA = ("rdma/", "vpc.amazonaws.com/efa", "nvidia.com/hostdev", "mellanox.com/", "nvidia.com/resib")
_SHARED_FROM = 64
"""A node that announces so many cards announces one card so many times."""


def count_on(node: Node, resource: str) -> int:
    """How many of a resource a node can give."""
    amount = try_quantity(node.status.allocatable.get(resource, "0"))
    return amount.value() if amount is not None else 0


def near_of(nodes: Sequence[Node]) -> tuple[str, ...]:
    """Topology labels that every one of these nodes carries."""
    return tuple(key for key in NEAR if nodes and all(key in node.metadata.labels for node in nodes))


def rdma_of(nodes: Sequence[Node], plan: Plan) -> dict[str, int]:
    """Cards that every one of these nodes has: the pod's GPUs' share of them, or one of a shared card."""
    names = {name for node in nodes for name in node.status.allocatable if name.startswith(_RDMA)}
    found = {}
    for name in sorted(names):
        counts = [count_on(node, name) for node in nodes]
        if min(counts) > 0:
            found[name] = _cards(name, min(counts), nodes[counts.index(min(counts))], plan)
    return found


def node_lines(terms: Terms) -> tuple[NodeTerm, ...]:
    """Label lines as values that are kept."""
    return tuple(
        NodeTerm(key=line["key"], operator=line["operator"], values=tuple(line["values"])) for line in terms
    )


def _cards(name: str, count: int, node: Node, plan: Plan) -> int:
    if "shared" in name or count >= _SHARED_FROM:
        return 1
    wish = plan.workload.trainer.gpus
    there = count_on(node, wish.resource) if wish.resource else 0
    return max(1, count * wish.count // there) if there else 1
