"""A training run as planning sees it: one value for Run documents and for Kubernetes manifests."""

from tonnage.planning.workload.durability import DiesWith, Durability
from tonnage.planning.workload.value import (
    UNBOUNDED,
    CheckpointTarget,
    GpuWish,
    Mount,
    Role,
    SpotUse,
    Unknown,
    Workload,
)

__all__ = [
    "UNBOUNDED", "CheckpointTarget", "DiesWith", "Durability", "GpuWish", "Mount", "Role", "SpotUse", "Unknown",
    "Workload",
]  # fmt: skip
