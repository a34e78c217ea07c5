"""What the kinds of Training Operator v1 share: a run policy, and replicas of plain pods that are never restarted."""

from __future__ import annotations

from typing import Any

from tonnage.manifests.failing import active_deadline, seconds_kept
from tonnage.manifests.pods.pod import Template
from tonnage.manifests.request import RenderRequest
from tonnage.manifests.targets.frame import suspension

API = "kubeflow.org/v1"


def run_policy(request: RenderRequest) -> dict[str, Any]:
    """When it ends and what stays: pods that ended are kept for their logs, running ones are removed."""
    policy: dict[str, Any] = {
        **suspension(request),
        "cleanPodPolicy": "Running",
        "backoffLimit": 0,
        "ttlSecondsAfterFinished": seconds_kept(request),
    }
    deadline = active_deadline(request)
    if deadline is not None:
        policy["activeDeadlineSeconds"] = deadline
    return policy


def replica(template: Template, count: int) -> dict[str, Any]:
    """Pods of one role; the policy of the replica replaces that of the pod."""
    pod = {name: value for name, value in template["spec"].items() if name != "restartPolicy"}
    return {"replicas": count, "restartPolicy": "Never", "template": {**template, "spec": pod}}


def room_for(nodes: int) -> int:
    """`-worker-15`: what the operator appends to make the name of a pod and of its Service."""
    return len(f"-worker-{nodes - 1}")
