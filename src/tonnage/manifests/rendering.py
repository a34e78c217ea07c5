"""Render one attempt of a run: choose the target, make its objects, say what could not be said."""

from __future__ import annotations

from collections.abc import Callable

from tonnage.manifests.choosing import choose_target
from tonnage.manifests.codes import NO_QUEUE, refuse
from tonnage.manifests.delivering import agent_config_map, why_not_watched
from tonnage.manifests.lacking import LACKS
from tonnage.manifests.larger import on_its_gpu
from tonnage.manifests.naming import selector_of
from tonnage.manifests.networking import network_policy, notes_on_network
from tonnage.manifests.ranking import notes_on_rank, priority_class
from tonnage.manifests.request import Rendered, RenderRequest, TargetKind
from tonnage.manifests.targets.frame import Framed, namespace_of
from tonnage.manifests.targets.indexed_job import render_indexed_job
from tonnage.manifests.targets.job import render_job
from tonnage.manifests.targets.jobset import render_jobset
from tonnage.manifests.targets.mpijob import render_mpijob
from tonnage.manifests.targets.pytorchjob import render_pytorchjob
from tonnage.manifests.targets.tfjob import render_tfjob
from tonnage.manifests.targets.trainjob import render_trainjob

_TARGETS: dict[TargetKind, Callable[[RenderRequest], Framed]] = {
    "Job": render_job,
    "IndexedJob": render_indexed_job,
    "JobSet": render_jobset,
    "TrainJob": render_trainjob,
    "PyTorchJob": render_pytorchjob,
    "TFJob": render_tfjob,
    "MPIJob": render_mpijob,
}


def render(request: RenderRequest) -> Rendered:
    """The objects of one attempt in the order of application; raise RefusedError where they would not work."""
    _refuse_lost_queue(request)
    request = on_its_gpu(request)
    choice = choose_target(request.run, request.planned.nodes, request.facts.served)
    framed = _TARGETS[choice.target](request)
    name, namespace = framed.workload["metadata"]["name"], namespace_of(request)
    notes = [
        *(lack.text for lack in LACKS[choice.target]),
        *_notes_on_gang(request),
        *request.planned.assumed,
        *framed.notes,
        *why_not_watched(request),
        *notes_on_rank(request),
        *notes_on_network(request),
    ]
    return Rendered(
        target=choice.target,
        objects=(
            *priority_class(request),
            *agent_config_map(request, namespace),
            *network_policy(request, name, namespace),
            *framed.before,
            framed.workload,
        ),
        selector=selector_of(request),
        notes=tuple(dict.fromkeys(notes)),
    )


def _refuse_lost_queue(request: RenderRequest) -> None:
    """A run that should wait its turn must not start without waiting."""
    wanted = request.run.spec.queue
    if wanted and not request.facts.queue:
        raise refuse(
            NO_QUEUE,
            f"there is no queue {wanted} in namespace {namespace_of(request)}",
            where="spec.queue",
            hint="name another queue, or none: the run then starts without waiting its turn",
        )


def _notes_on_gang(request: RenderRequest) -> list[str]:
    """Without a queue nobody starts the pods of a gang together."""
    if request.planned.nodes == 1 or request.facts.queue:
        return []
    return [
        "no queue: pods start one by one as nodes take them; ranks that wait too long for the others give up and "
        "free their nodes, and the supervisor tries again"
    ]
