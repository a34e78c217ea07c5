"""Collectives between ranks: bytes over the slowest link on the way, and a hop's latency for every rank.

The usual bandwidth and latency model of ring and tree algorithms: an all-reduce moves each byte 2 (n - 1) / n
times over a rank's link, a gather or scatter (n - 1) / n times. Inside a node the link is NVLink, or PCIe where
there is none; between nodes a network card, of which the node's GPUs usually have one each.
"""

from __future__ import annotations

import msgspec

from tonnage.cluster.gpu_facts import GpuFacts
from tonnage.memory.trace import Operation
from tonnage.timing.tensors import total_bytes
from tonnage.timing.work import Work, base_name, octaves

_NVLINK_SHARE = 0.80
"""Of one direction of a data sheet's NVLink figure that large collectives reach."""
_PCIE_SHARE = 0.55
_NETWORK_SHARE = 0.85
_HOP_INSIDE = 3.0e-6
_HOP_BETWEEN = 9.0e-6
_START = 12e-6

_KINDS = {
    "allreduce": "all_reduce",
    "all_reduce": "all_reduce",
    "allgather": "all_gather",
    "all_gather": "all_gather",
    "reduce_scatter": "reduce_scatter",
    "reducescatter": "reduce_scatter",
    "alltoall": "all_to_all",
    "all_to_all": "all_to_all",
    "broadcast": "broadcast",
    "scatter_": "broadcast",
    "reduce_": "broadcast",
    "send": "send",
    "recv": "send",
    "barrier": "barrier",
}


class Interconnect(msgspec.Struct, frozen=True):
    """Where ranks sit: GPUs to a node, and the network's bytes per second for each GPU, one direction."""

    gpus_per_node: int = 8
    network: float = 50e9
    """400 Gbit/s, one card for each GPU: what machines with eight of the large GPUs come with."""


def collective_work(operation: Operation) -> Work | None:
    """The work of a collective; None where the operation is none."""
    if not operation.name.startswith(("c10d", "_c10d", "symm_mem")):
        return None
    name = base_name(operation)
    if name.startswith("wait"):
        return Work("free", "wait", kernels=0.0)
    kind = next((kind for start, kind in _KINDS.items() if start in name), None)
    if kind is None:
        return Work("free", "free", kernels=0.0)
    inputs, outputs = total_bytes(operation.inputs), total_bytes(operation.outputs)
    moved = float(max(inputs, outputs))
    return Work(kind="collective", family=kind, features=(octaves(moved),), bytes=moved)


def collective_seconds(work: Work, facts: GpuFacts, ranks: int, interconnect: Interconnect) -> float:
    """Seconds of a collective over that many ranks, all starting together."""
    if ranks <= 1:
        return _START
    nodes = -(-ranks // interconnect.gpus_per_node)
    inside = facts.nvlink / 2 * _NVLINK_SHARE if facts.nvlink else facts.pcie * _PCIE_SHARE
    between = interconnect.network * _NETWORK_SHARE
    share = (ranks - 1) / ranks
    times = {"all_reduce": 2 * share, "all_to_all": share, "broadcast": 1.0, "send": 1.0, "barrier": 0.0}
    moved = work.bytes * times.get(work.family, share)
    if nodes == 1:
        return _START + moved / inside + _HOP_INSIDE * (ranks - 1)
    if work.family in ("all_reduce", "all_gather", "reduce_scatter", "broadcast"):
        # The rings of a node's GPUs each use their own card, so a rank's link between nodes carries its share.
        hops = _HOP_BETWEEN * (nodes - 1) + _HOP_INSIDE * interconnect.gpus_per_node
        return _START + max(moved / inside, moved / (between * interconnect.gpus_per_node)) + hops
    far = (ranks - interconnect.gpus_per_node) / ranks
    return _START + max(moved / inside, moved * far / between) + _HOP_BETWEEN * nodes
