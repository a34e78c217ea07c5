"""A gang in a JobSet: one replicated Job whose pods have names, restarted whole when one of them is lost.

A disruption fails the Job by its pod failure policy; the JobSet's own rule then starts all of it again, as often as
it takes and without anybody's help. Any other end of the Job ends the JobSet, and the supervisor decides. What the
webhook would fill in is said here, so that what is applied is what was printed.
"""

from __future__ import annotations

from typing import Any

from tonnage.manifests.failing import forgives_disruptions, job_policies, seconds_kept
from tonnage.manifests.naming import attempt_name, labels_of
from tonnage.manifests.pods.pod import Template, make_pod
from tonnage.manifests.pods.wiring import JOB_INDEX, Gang
from tonnage.manifests.request import RenderRequest
from tonnage.manifests.targets.frame import Framed, suspension, workload

ROLE = "node"
DISRUPTED = "has condition DisruptionTarget matching FailJob rule"
"""What the Job controller writes when the first rule of our pod failure policy matched."""


def room_for(nodes: int) -> int:
    """`-node-0-15-abcde`: what JobSet appends to make the name of a pod."""
    return len(f"-{ROLE}-0-{nodes - 1}-abcde")


def gang_in(name: str, nodes: int, **more: Any) -> Gang:
    """The pods of a JobSet of this name."""
    hosts = tuple(f"{name}-{ROLE}-0-{index}.{name}" for index in range(nodes))
    return Gang(index=JOB_INDEX, hosts=hosts if nodes > 1 else (), **more)


def render_jobset(request: RenderRequest) -> Framed:
    nodes = request.planned.nodes
    name = attempt_name(request.run.metadata.name, request.attempt, room_for(nodes))
    gang = gang_in(name, nodes)
    made = make_pod(request, gang)
    spec = {
        **suspension(request),
        **jobset_policies(request),
        "ttlSecondsAfterFinished": seconds_kept(request),
        "replicatedJobs": [replicated_job(request, made.template, gang.container)],
    }
    api_version = request.facts.served["JobSet"]
    return Framed(workload=workload(request, api_version, "JobSet", name, spec), notes=made.notes)


def jobset_policies(request: RenderRequest) -> dict[str, Any]:
    """When a JobSet has ended, and when it begins again."""
    failure: dict[str, Any] = {"maxRestarts": 0, "restartStrategy": "Recreate"}
    if forgives_disruptions(request):
        failure["rules"] = [
            {
                "name": "disruption",
                "action": "RestartJobSetAndIgnoreMaxRestarts",
                "onJobFailureReasons": ["PodFailurePolicy"],
                "onJobFailureMessagePatterns": [DISRUPTED],
            }
        ]
    return {
        "network": {"enableDNSHostnames": True, "publishNotReadyAddresses": True},
        "successPolicy": {"operator": "All"},
        "startupPolicy": {"startupPolicyOrder": "AnyOrder"},
        "failurePolicy": failure,
    }


def replicated_job(
    request: RenderRequest, template: Template, container: str, labels: dict[str, str] | None = None
) -> dict[str, Any]:
    """The one Job of the set."""
    nodes = request.planned.nodes
    return {
        "name": ROLE,
        "replicas": 1,
        "template": {
            "metadata": {"labels": {**labels_of(request), **(labels or {})}},
            "spec": {
                "completionMode": "Indexed",
                "parallelism": nodes,
                "completions": nodes,
                **job_policies(request, container),
                "template": template,
            },
        },
    }
