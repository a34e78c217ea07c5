"""A gang in one Indexed Job, its pods reachable by name through a headless Service."""

from __future__ import annotations

from tonnage.manifests.failing import job_policies, seconds_kept
from tonnage.manifests.naming import attempt_name
from tonnage.manifests.networking import headless_service
from tonnage.manifests.pods.pod import make_pod
from tonnage.manifests.pods.wiring import JOB_INDEX, Gang
from tonnage.manifests.request import RenderRequest
from tonnage.manifests.targets.frame import Framed, namespace_of, suspension, workload


def render_indexed_job(request: RenderRequest) -> Framed:
    nodes = request.planned.nodes
    room = len(f"-{nodes - 1}-abcde")
    name = attempt_name(request.run.metadata.name, request.attempt, room)
    hosts = tuple(f"{name}-{index}.{name}" for index in range(nodes))
    gang = Gang(index=JOB_INDEX, hosts=hosts if nodes > 1 else ())
    made = make_pod(request, gang)
    made.template["spec"]["subdomain"] = name
    spec = {
        **suspension(request),
        "completionMode": "Indexed",
        "parallelism": nodes,
        "completions": nodes,
        **job_policies(request, gang.container),
        "ttlSecondsAfterFinished": seconds_kept(request),
        "template": made.template,
    }
    return Framed(
        workload=workload(request, "batch/v1", "Job", name, spec),
        before=(headless_service(request, name, namespace_of(request)),),
        notes=made.notes,
    )
