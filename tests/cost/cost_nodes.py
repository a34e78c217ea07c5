"""Nodes as clouds label them, for tests about prices."""

from __future__ import annotations

from tonnage.cluster.objects import Meta, Node

INSTANCE = "node.kubernetes.io/instance-type"
REGION = "topology.kubernetes.io/region"


def a_node(machine: str = "p5.48xlarge", *, price: str | None = None, **labels: str) -> Node:
    """A node of a machine type; labels are given with `_` for what Python names cannot hold."""
    found = {INSTANCE: machine, REGION: "us-east-1"} if machine else {}
    found |= labels
    annotations = {"tonnage.dev/price": price} if price is not None else {}
    return Node(metadata=Meta(name="node-0", labels=found, annotations=annotations))
