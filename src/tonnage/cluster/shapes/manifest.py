"""A shape as a Kubernetes Node: what `kubectl get node -o yaml` would show for such a machine.

Allocatable is less than capacity, as on real nodes: the machine keeps some cpu and memory for the kubelet and
the system, and does not hand out the last tenth of its disk. The amounts follow the tiers that large clouds
publish (a quarter of the first 4 GiB, a fiftieth beyond 128 GiB), because planning against capacity is a
classic way to wait for ever.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from tonnage.cluster.shapes.labels import gpu_labels
from tonnage.cluster.shapes.shape import NodeShape

KUBELET_VERSION = "v1.36.4"
_GIB = 1024**3
# (up to this many GiB, share kept for kubelet and system)
_MEMORY_TIERS = ((4, 0.25), (8, 0.20), (16, 0.10), (128, 0.06), (float("inf"), 0.02))
_EVICTION_HEADROOM = 100 * 1024**2


def node_from_shape(shape: NodeShape, name: str, index: int = 0) -> dict[str, Any]:
    """The full Node manifest, status included; `index` picks the zone among the shape's zones."""
    labels = _labels(shape, name, shape.zones[index % len(shape.zones)])
    spec: dict[str, Any] = {}
    if taints := shape.all_taints():
        spec["taints"] = [_taint(taint.key, taint.value, taint.effect) for taint in taints]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels, "annotations": {"kwok.x-k8s.io/node": "fake"}},
        "spec": spec,
        "status": {
            "capacity": capacity(shape),
            "allocatable": allocatable(shape),
            "nodeInfo": _node_info(),
            "phase": "Running",
        },
    }


def nodes_from_shapes(shapes: Iterable[tuple[NodeShape, int]]) -> Iterator[dict[str, Any]]:
    """Every node of every shape, named `SHAPE-NN` with as many digits as the count needs."""
    for shape, count in shapes:
        width = len(str(count - 1))
        for index in range(count):
            yield node_from_shape(shape, f"{shape.name}-{index:0{width}d}", index)


def capacity(shape: NodeShape) -> dict[str, str]:
    """What the machine has."""
    return {
        "cpu": str(shape.cpu),
        "memory": f"{shape.memory // 1024}Ki",
        "ephemeral-storage": f"{shape.disk // 1024}Ki",
        "pods": str(shape.pods),
        "hugepages-1Gi": "0",
        "hugepages-2Mi": "0",
    } | {resource: str(count) for resource, count in shape.gpu_resources().items()}


def allocatable(shape: NodeShape) -> dict[str, str]:
    """What pods may ask for."""
    memory = shape.memory - min(_reserved_memory(shape.memory) + _EVICTION_HEADROOM, shape.memory // 2)
    return capacity(shape) | {
        "cpu": f"{shape.cpu * 1000 - _reserved_millicores(shape.cpu)}m",
        "memory": f"{memory // 1024}Ki",
        "ephemeral-storage": str(shape.disk * 9 // 10),
    }


def _reserved_memory(memory: int) -> int:
    kept, floor = 0.0, 0.0
    for ceiling, share in _MEMORY_TIERS:
        kept += max(0.0, min(memory / _GIB, ceiling) - floor) * share
        floor = ceiling
    return int(kept * _GIB)


def _reserved_millicores(cpu: int) -> int:
    """6 % of the first core, 1 % of the second, 0.5 % of the next two, 0.25 % of the rest."""
    return round(
        60 * min(cpu, 1) + 10 * min(max(cpu - 1, 0), 1) + 5 * min(max(cpu - 2, 0), 2) + 2.5 * max(cpu - 4, 0)
    )


def _labels(shape: NodeShape, name: str, zone: str) -> dict[str, str]:
    labels = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "node.kubernetes.io/instance-type": shape.instance or shape.name,
        "topology.kubernetes.io/region": zone.rsplit("-", 1)[0],
        "topology.kubernetes.io/zone": zone,
        "karpenter.sh/capacity-type": "spot" if shape.is_spot else "on-demand",
        "tonnage.dev/pool": shape.name,
        "type": "kwok",
    }
    return labels | gpu_labels(shape) | dict(shape.labels)


def _taint(key: str, value: str, effect: str) -> dict[str, str]:
    return {"key": key, "effect": effect} | ({"value": value} if value else {})


def _node_info() -> dict[str, str]:
    return {
        "architecture": "amd64",
        "bootID": "",
        "containerRuntimeVersion": "kwok://v0.8.0",
        "kernelVersion": "kwok",
        "kubeProxyVersion": KUBELET_VERSION,
        "kubeletVersion": KUBELET_VERSION,
        "machineID": "",
        "operatingSystem": "linux",
        "osImage": "simulated",
        "systemUUID": "",
    }
