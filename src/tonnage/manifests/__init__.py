"""From a plan to Kubernetes objects: pure functions, one file per target.

    RenderRequest  --render-->  Rendered: objects in the order of application, notes, the pods' selector

What we create is plain Kubernetes; remove Tonnage and the jobs keep running. Every pod of every target is the same
pod (`pods/`), made of the same template that was planned with (`planning.workload.template`); a target only says
what holds the pods, how they find each other, and what its API has no words for (`lacking`).

    plan = make_plan(workload, sources, snapshot=snapshot)
    request = RenderRequest(run=run, planned=planned_of(plan, snapshot), facts=facts_of(snapshot, plan), agent=packed())
    for item in render(request).objects: apply(item)
"""

from tonnage.manifests.choosing import Choice, choose_target
from tonnage.manifests.expecting import expected_target
from tonnage.manifests.facts import facts_of
from tonnage.manifests.planned import first_size, planned_of
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
    "Choice", "ClusterFacts", "CodeDelivery", "NodeTerm", "Planned", "RenderRequest", "Rendered", "TargetKind",
    "choose_target", "expected_target", "facts_of", "first_size", "planned_of", "render",
]  # fmt: skip
