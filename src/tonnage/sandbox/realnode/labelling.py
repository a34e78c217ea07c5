"""What a real node says about itself: labels for selecting it, and the GPUs it announces.

The GPUs are numbers only. A kubelet takes extended resources from its node's status, so announcing them is
one patch of that status; it survives restarts of the kubelet and goes with the Node object. Pods that ask
for GPUs are then counted and placed as on a GPU node, and run without one.
"""

from __future__ import annotations

from typing import Any

from tonnage.cluster.shapes import parse_node_shapes
from tonnage.cluster.shapes.labels import gpu_labels

REAL_NODE = "tonnage.dev/real-node"
GPU = "nvidia.com/gpu"
GPU_TYPE = "h100"


def labels_for(*, gpus: int) -> dict[str, str]:
    """The labels a real node registers with; the GPU ones are those of a simulated node of the same type."""
    labels = {REAL_NODE: "true"}
    if gpus:
        ((shape, _),) = parse_node_shapes(f"{gpus}x{GPU_TYPE}=1")
        labels |= gpu_labels(shape)
    return labels


def status_with_gpus(gpus: int) -> dict[str, Any]:
    """The merge patch of a node's status that announces its GPUs."""
    return {"status": {"capacity": {GPU: str(gpus)}, "allocatable": {GPU: str(gpus)}}}


def announces_gpus(node: dict[str, Any], gpus: int) -> bool:
    """Whether this Node object already announces them."""
    status = node.get("status", {})
    return all(status.get(side, {}).get(GPU) == str(gpus) for side in ("capacity", "allocatable"))
