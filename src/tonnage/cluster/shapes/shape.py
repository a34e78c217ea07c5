"""One machine, described: how much of everything, which GPUs, and what sets it apart."""

from __future__ import annotations

import msgspec

from tonnage.cluster.gpus import GpuType, MigProfile
from tonnage.cluster.objects.node import Taint

GPU_TAINT = Taint(key="nvidia.com/gpu", value="present", effect="NoSchedule")
"""What GPU operators and clouds put on GPU nodes, so that pods without GPUs stay off them."""


class MigCut(msgspec.Struct, frozen=True):
    """How each GPU of a node is cut: profiles with how many of each."""

    parts: tuple[tuple[MigProfile, int], ...]
    is_single: bool
    """All parts alike and offered as `nvidia.com/gpu`; otherwise each profile is a resource of its own."""


class NodeShape(msgspec.Struct, frozen=True, kw_only=True):
    """What one node has. Bytes are bytes, cpu is in cores."""

    name: str
    cpu: int
    memory: int
    disk: int
    gpus: int = 0
    gpu_type: GpuType | None = None
    mig: MigCut | None = None
    shared: int = 1
    """Pods that take turns on one GPU (time slicing), or run side by side on it (`is_mps`)."""
    is_mps: bool = False
    labels: tuple[tuple[str, str], ...] = ()
    taints: tuple[Taint, ...] = ()
    """Beyond the GPU taint, which `has_gpu_taint` governs."""
    has_gpu_taint: bool = True
    zones: tuple[str, ...] = ("sandbox-a",)
    """Nodes of this shape take turns over these."""
    is_spot: bool = False
    instance: str | None = None
    """The cloud's name of the machine, where it matters to prices."""
    pods: int = 110

    def all_taints(self) -> tuple[Taint, ...]:
        """The usual GPU taint where it applies, and those asked for."""
        return ((GPU_TAINT,) if self.gpus and self.has_gpu_taint else ()) + self.taints

    def gpu_resources(self) -> dict[str, int]:
        """Extended resources this node offers: whole GPUs, shares of them, or slices."""
        if not self.gpus:
            return {}
        if self.mig is None:
            return {"nvidia.com/gpu": self.gpus * self.shared}
        if self.mig.is_single:
            return {"nvidia.com/gpu": self.gpus * self.shared * sum(count for _, count in self.mig.parts)}
        return {f"nvidia.com/mig-{p.name}": self.gpus * self.shared * count for p, count in self.mig.parts}
