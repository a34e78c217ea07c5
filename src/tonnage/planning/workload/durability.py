"""Which storage dies with the pod, which with the node, and which survives both.

A checkpoint is worth what outlives the failure it is kept for. The pod is the thing that fails most often, and
the replacement usually lands on another node; so storage that dies with either is no place for progress.
Kubernetes does not say this anywhere in one place, and people read it wrongly in both directions (a container
restart keeps an emptyDir; a local volume keeps its bytes but ties them to one machine).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class DiesWith(Enum):
    """What must fail for the bytes to be gone, or out of reach for the next attempt."""

    CONTAINER = "container"
    POD = "pod"
    NODE = "node"
    NOTHING = "nothing"
    UNKNOWN = "unknown"

    @property
    def survives(self) -> bool:
        """Whether a checkpoint there is still to be had after pod and node are gone."""
        return self is DiesWith.NOTHING


@dataclass(frozen=True, slots=True)
class Durability:
    """How long bytes at a place last, and why."""

    place: str
    """The place as people would name it: `emptyDir`, `pvc/ckpt`, `s3://bucket/prefix`, `/root/out`."""
    dies_with: DiesWith
    reason: str
    caution: str = ""
    """What to mind although it survives: one node at a time, deleted with its claim, ..."""
