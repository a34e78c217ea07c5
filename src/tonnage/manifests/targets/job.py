"""One pod in a Job."""

from __future__ import annotations

from tonnage.manifests.failing import job_policies, seconds_kept
from tonnage.manifests.naming import attempt_name
from tonnage.manifests.pods.pod import make_pod
from tonnage.manifests.pods.wiring import Gang
from tonnage.manifests.request import RenderRequest
from tonnage.manifests.targets.frame import Framed, suspension, workload

ROOM = 6
"""`-abcde` of the pod's name, which is also its host name."""


def render_job(request: RenderRequest) -> Framed:
    gang = Gang()
    made = make_pod(request, gang)
    spec = {
        **suspension(request),
        "parallelism": 1,
        "completions": 1,
        **job_policies(request, gang.container),
        "ttlSecondsAfterFinished": seconds_kept(request),
        "template": made.template,
    }
    name = attempt_name(request.run.metadata.name, request.attempt, ROOM)
    return Framed(workload=workload(request, "batch/v1", "Job", name, spec), notes=made.notes)
