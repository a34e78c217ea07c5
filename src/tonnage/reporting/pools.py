"""Nodes as people think of them: pools of alike machines, with what is free on those that can be used.

Free capacity counts ready, schedulable nodes only: eight GPUs on a cordoned node help nobody, and saying
otherwise is how "there are free GPUs" and "my job waits" come to be true at once. They are counted apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from tonnage.cluster.gpus import gpu_from_product
from tonnage.cluster.objects.node import Node
from tonnage.cluster.objects.pod import Pod
from tonnage.cluster.resources import pod_requests
from tonnage.cluster.snapshot import Snapshot, pods_by_node
from tonnage.units import Quantity, try_quantity

ZERO = Quantity(0)
POOL_LABELS = (
    "tonnage.dev/pool",
    "cloud.google.com/gke-nodepool",
    "eks.amazonaws.com/nodegroup",
    "kubernetes.azure.com/agentpool",
    "karpenter.sh/nodepool",
    "doks.digitalocean.com/node-pool",
)
_GPU_RESOURCES = ("nvidia.com/gpu", "nvidia.com/mig-", "amd.com/gpu", "gpu.intel.com/", "habana.ai/gaudi")
_ACCELERATORS = ("google.com/tpu", "aws.amazon.com/neuron")


class Use(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """How much of one resource there is, is asked for by pods, and can still be had."""

    total: int
    used: int
    free: int | None
    """Nothing where only one namespace was looked at: pods of the others hold an unknown part."""

    @property
    def share(self) -> float:
        return self.used / self.total if self.total else 0.0


class Pool(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Nodes that are alike: same pool label, same GPUs."""

    name: str
    gpu_type: str
    gpus_per_node: int
    nodes: int
    usable: int
    """Ready and not cordoned; only these count as free."""
    gpus: Use
    cpu_milli: Use
    memory_bytes: Use


def is_gpu(resource: str) -> bool:
    """Whether a resource name counts accelerators."""
    return resource.startswith(_GPU_RESOURCES) or resource.startswith(_ACCELERATORS)


def is_usable(node: Node) -> bool:
    """Whether new pods may come to a node at all: ready, and not cordoned."""
    ready = any(
        condition.type == "Ready" and condition.status == "True" for condition in node.status.conditions
    )
    return ready and not node.spec.unschedulable


def node_pools(snapshot: Snapshot) -> tuple[Pool, ...]:
    """The snapshot's nodes as pools, those with the most GPUs first."""
    bound = pods_by_node(snapshot)
    groups: dict[tuple[str, str, int], list[Node]] = {}
    for node in snapshot.nodes:
        key = (pool_of(node), gpu_type_of(node), gpus_of(node.status.allocatable))
        groups.setdefault(key, []).append(node)
    sees_all = not snapshot.namespace and snapshot.gap("pods") is None
    pools = [_pool(key, nodes, bound, sees_all) for key, nodes in groups.items()]
    return tuple(sorted(pools, key=lambda pool: (-pool.gpus.total, -pool.cpu_milli.total, pool.name)))


def pool_of(node: Node) -> str:
    """The pool a cloud or autoscaler put the node in, where it says so."""
    labels = node.metadata.labels
    return next((labels[label] for label in POOL_LABELS if labels.get(label)), "")


def gpu_type_of(node: Node) -> str:
    """The GPU type as people name it, from GPU feature discovery's label; else the bare resource."""
    product = node.metadata.labels.get("nvidia.com/gpu.product", "")
    known = gpu_from_product(product) if product else None
    if known is not None:
        return known.name
    cloud = node.metadata.labels.get("cloud.google.com/gke-accelerator", "")
    if product or cloud:
        return product or cloud
    found = sorted(name for name in node.status.allocatable if is_gpu(name) and _amount(node, name))
    return found[0] if found else ""


def gpus_of(resources: Mapping[str, str]) -> int:
    """Accelerators in a resource list."""
    return sum((try_quantity(text) or ZERO).value() for name, text in resources.items() if is_gpu(name))


def requested(pods: Iterable[Pod]) -> tuple[int, int, int]:
    """What pods ask for together: GPUs, millicores, bytes of memory."""
    gpus = cpu = memory = 0
    for pod in pods:
        for name, amount in pod_requests(pod).items():
            if name == "cpu":
                cpu += amount.milli()
            elif name == "memory":
                memory += amount.value()
            elif is_gpu(name):
                gpus += amount.value()
    return gpus, cpu, memory


def _pool(
    key: tuple[str, str, int], nodes: list[Node], bound: Mapping[str, tuple[Pod, ...]], sees_all: bool
) -> Pool:
    totals, used, free = [0, 0, 0], [0, 0, 0], [0, 0, 0]
    for node in nodes:
        has = (gpus_of(node.status.allocatable), _milli(node), _amount(node, "memory"))
        asked = requested(bound.get(node.metadata.name, ()))
        for index in range(3):
            totals[index] += has[index]
            used[index] += asked[index]
            free[index] += max(0, has[index] - asked[index]) if is_usable(node) else 0
    uses = [Use(total=totals[i], used=used[i], free=free[i] if sees_all else None) for i in range(3)]
    name, gpu_type, per_node = key
    return Pool(
        name=name,
        gpu_type=gpu_type,
        gpus_per_node=per_node,
        nodes=len(nodes),
        usable=sum(map(is_usable, nodes)),
        gpus=uses[0],
        cpu_milli=uses[1],
        memory_bytes=uses[2],
    )


def _amount(node: Node, resource: str) -> int:
    return (try_quantity(node.status.allocatable.get(resource, "0")) or ZERO).value()


def _milli(node: Node) -> int:
    return (try_quantity(node.status.allocatable.get("cpu", "0")) or ZERO).milli()
