"""A Cluster document as Kubernetes nodes, so that everything that looks at a cluster can look at a file.

Node names, labels and taints are those the pool says, and for the rest what GPU operators and clouds give
such machines. Each node carries its price as an annotation, because nothing else of the document travels
with it.
"""

from __future__ import annotations

from typing import Any

from tonnage.cluster.announcing import TO_COME
from tonnage.cluster.gpus import GpuType, find_gpu
from tonnage.cluster.objects.node import Taint
from tonnage.cluster.shapes import MigCut, NodeShape, node_from_shape
from tonnage.spec.cluster import Cluster, Pool
from tonnage.spec.literals import Money

PRICE_ANNOTATION = "tonnage.dev/price"
_GIB = 1024**3
_DEFAULT_DISK = 100 * _GIB


def nodes_of(cluster: Cluster, *, to_come: bool = False) -> list[dict[str, Any]]:
    """Every node of the cluster as a Kubernetes Node manifest, in the order of the pools.

    With `to_come` also those that an autoscaler may add, marked as such.
    """
    return [node for pool in cluster.spec.pools for node in _pool_nodes(pool, to_come=to_come)]


def shape_of(pool: Pool) -> NodeShape:
    """What one node of the pool looks like; sizes not given are what usually comes with such GPUs."""
    count = int(pool.gpus.count)
    kind = find_gpu(pool.gpus.type) if pool.gpus.type else None
    usual = kind.host if kind else None
    return NodeShape(
        name=pool.name,
        cpu=pool.cpu.milli // 1000 if pool.cpu else (usual.cpu * count if usual else 1),
        memory=pool.memory.bytes if pool.memory else (usual.memory_gib * count * _GIB if usual else _GIB),
        disk=pool.disk.bytes if pool.disk else (usual.disk_gib * count * _GIB if usual else _DEFAULT_DISK),
        gpus=count if kind else 0,
        gpu_type=kind,
        mig=_cut(pool, kind),
        shared=pool.sharing.replicas or 1,
        is_mps=pool.sharing.mode == "mps",
        labels=tuple(pool.labels.items()),
        taints=tuple(
            Taint(key=taint.key, value=taint.value, effect=taint.effect) for taint in pool.taints or ()
        ),
        has_gpu_taint=pool.taints is None,
        zones=pool.zones or ("zone-a",),
        is_spot=pool.capacity_type == "spot",
        instance=pool.instance,
        pods=pool.pods,
    )


def _pool_nodes(pool: Pool, *, to_come: bool) -> list[dict[str, Any]]:
    shape, there = shape_of(pool), pool.nodes.low
    count = max(there, pool.autoscale.nodes.high) if to_come and pool.autoscale else there
    width = len(str(max(count - 1, 0)))
    nodes = []
    for index in range(count):
        node = node_from_shape(shape, f"{pool.name}-{index:0{width}d}", index)
        # These two mark a simulated node in a sandbox; a planned one is neither.
        node["metadata"]["labels"].pop("type", None)
        node["metadata"]["annotations"] = _price_note(pool)
        if index >= there:
            node["metadata"]["annotations"][TO_COME] = "autoscale"
        nodes.append(node)
    return nodes


def _cut(pool: Pool, kind: GpuType | None) -> MigCut | None:
    if pool.sharing.mode != "mig" or kind is None or pool.sharing.profile is None:
        return None
    profile = kind.mig_profile(pool.sharing.profile)
    return MigCut(((profile, profile.most),), is_single=True) if profile else None


def _price_note(pool: Pool) -> dict[str, str]:
    """The price of the whole node."""
    if pool.price is None:
        return {}
    if pool.price.node is not None:
        return {PRICE_ANNOTATION: str(pool.price.node)}
    if pool.price.gpu is None:
        return {}
    count, each = int(pool.gpus.count), pool.price.gpu
    return {PRICE_ANNOTATION: str(Money(each.low * count, each.high * count, each.per))}
