"""A training run as planning sees it: one value for Run documents and for Kubernetes manifests."""

from tonnage.planning.workload.durability import DiesWith, Durability
from tonnage.planning.workload.value import (
    CheckpointTarget,
    GpuWish,
    Mount,
    Role,
    SpotUse,
    Unknown,
    Workload,
)

__all__ = [
    "CheckpointTarget", "DiesWith", "Durability", "GpuWish", "Mount", "Role", "SpotUse", "Unknown", "Workload",
]  # fmt: skip
