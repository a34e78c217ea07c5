"""Nodes as people think of them: pools of alike machines, with what is free on those that can be used.

A GPU that is cut (MIG) or shared is not a GPU to whoever asks: a pod that asks for `nvidia.com/gpu: 8` on a
node with 56 slices gets eight slices, about one GPU. Whole GPUs and parts of GPUs are therefore never added
up. How many real GPUs the parts come from is not said: no label tells it for every way of cutting.

Free capacity counts ready, schedulable nodes only: eight GPUs on a cordoned node help nobody, and saying
otherwise is how "there are free GPUs" and "my job waits" come to be true at once. They are counted apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from tonnage.cluster.announcing import devices_of, gpu_type_of, is_gpu, is_usable, part_of, pool_of
from tonnage.cluster.objects.node import Node
from tonnage.cluster.objects.pod import Pod
from tonnage.cluster.resources import pod_requests
from tonnage.cluster.snapshot import Snapshot, pods_by_node
from tonnage.units import Quantity, try_quantity

ZERO = Quantity(0)


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
    """Whole ones."""
    parts_per_node: dict[str, int]
    """Parts of GPUs by what one is: a MIG profile, or `shared`."""
    nodes: int
    usable: int
    """Ready and not cordoned; only these count as free."""
    gpus: Use
    parts: Use
    cpu_milli: Use
    memory_bytes: Use


def together(uses: Iterable[Use]) -> Use:
    """Several uses as one; what is free is unknown where one of them does not know it."""
    summed = list(uses)
    frees = [use.free for use in summed]
    return Use(
        total=sum(use.total for use in summed),
        used=sum(use.used for use in summed),
        free=None if None in frees else sum(free or 0 for free in frees),
    )


def node_pools(snapshot: Snapshot) -> tuple[Pool, ...]:
    """The snapshot's nodes as pools, those with the most GPUs first."""
    bound = pods_by_node(snapshot)
    groups: dict[tuple[str, str, tuple[tuple[str, int], ...]], list[Node]] = {}
    for node in snapshot.nodes:
        devices = tuple(sorted(devices_of(node).items()))
        groups.setdefault((pool_of(node), gpu_type_of(node), devices), []).append(node)
    sees_all = not snapshot.namespace and snapshot.gap("pods") is None
    pools = [_pool(nodes, bound, sees_all) for nodes in groups.values()]
    return tuple(
        sorted(
            pools,
            key=lambda pool: (-pool.gpus.total, -pool.parts.total, -pool.cpu_milli.total, pool.name),
        )
    )


def _requested(pods: Iterable[Pod], node: Node) -> tuple[int, int, int, int]:
    """What pods on a node ask for together: GPUs, parts of GPUs, millicores, bytes of memory."""
    gpus = parts = cpu = memory = 0
    for pod in pods:
        for name, amount in pod_requests(pod).items():
            if name == "cpu":
                cpu += amount.milli()
            elif name == "memory":
                memory += amount.value()
            elif is_gpu(name) and part_of(name, node.metadata.labels):
                parts += amount.value()
            elif is_gpu(name):
                gpus += amount.value()
    return gpus, parts, cpu, memory


def _pool(nodes: list[Node], bound: Mapping[str, tuple[Pod, ...]], sees_all: bool) -> Pool:
    totals, used, free = [0] * 4, [0] * 4, [0] * 4
    for node in nodes:
        devices = devices_of(node)
        whole = devices.get("", 0)
        has = (whole, sum(devices.values()) - whole, _milli(node), _amount(node, "memory"))
        asked = _requested(bound.get(node.metadata.name, ()), node)
        for index in range(4):
            totals[index] += has[index]
            used[index] += asked[index]
            free[index] += max(0, has[index] - asked[index]) if is_usable(node) else 0
    uses = [Use(total=totals[i], used=used[i], free=free[i] if sees_all else None) for i in range(4)]
    parts = devices_of(nodes[0])
    return Pool(
        name=pool_of(nodes[0]),
        gpu_type=gpu_type_of(nodes[0]),
        gpus_per_node=parts.pop("", 0),
        parts_per_node=parts,
        nodes=len(nodes),
        usable=sum(map(is_usable, nodes)),
        gpus=uses[0],
        parts=uses[1],
        cpu_milli=uses[2],
        memory_bytes=uses[3],
    )


def _amount(node: Node, resource: str) -> int:
    return (try_quantity(node.status.allocatable.get(resource, "0")) or ZERO).value()


def _milli(node: Node) -> int:
    return (try_quantity(node.status.allocatable.get("cpu", "0")) or ZERO).milli()
