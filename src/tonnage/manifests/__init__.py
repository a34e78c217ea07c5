"""From a plan to Kubernetes objects: pure functions, one file per target.

    RenderRequest  --render-->  Rendered: objects in the order of application, notes, the pods' selector

What we create is plain Kubernetes; remove Tonnage and the jobs keep running. Every pod of every target is the same
pod (`pods/`), made of the same template that was planned with (`planning.workload.template`); a target only says
what holds the pods, how they find each other, and what its API has no words for (`lacking`).
"""

from tonnage.manifests.rendering import render
from tonnage.manifests.request import (
    ClusterFacts,
    CodeDelivery,
    NodeTerm,
    Planned,
    Rendered,
    RenderRequest,
    TargetKind,
)

__all__ = [
    "ClusterFacts",
    "CodeDelivery",
    "NodeTerm",
    "Planned",
    "RenderRequest",
    "Rendered",
    "TargetKind",
    "render",
]
