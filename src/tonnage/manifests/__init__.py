"""From a plan to Kubernetes objects: pure functions, one file per target.

    RenderRequest  --render-->  Rendered: objects in the order of application, notes, the pods' selector

What we create is plain Kubernetes; remove Tonnage and the jobs keep running. Every pod of every target is the same
pod (`pods/`), made of the same template that was planned with (`planning.workload.template`); a target only says
what holds the pods, how they find each other, and what its API has no words for (`lacking`).

    plan = make_plan(workload, sources, snapshot=snapshot)
    request = RenderRequest(run=run, planned=planned_of(plan, snapshot), facts=facts_of(snapshot, plan), agent=packed())
    for item in render(request).objects: apply(item)

Names are loaded when they are first used: whoever only asks what a run would become loads no target.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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

_HOMES = {
    "Choice": "choosing",
    "choose_target": "choosing",
    "expected_target": "expecting",
    "facts_of": "facts",
    "first_size": "planned",
    "planned_of": "planned",
    "render": "rendering",
}
"""Where a name lives; all others are in `request`."""


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES.get(name, 'request')}"), name)
