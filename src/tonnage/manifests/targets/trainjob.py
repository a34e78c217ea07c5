"""A TrainJob with a TrainingRuntime of its own.

A TrainJob can say neither resources by limit, nor volumes' sizes, nor a pod failure policy; a runtime can say all of
it, in JobSet's words. So each attempt brings its runtime, and the TrainJob only says how many nodes and processes.
The rendezvous variables are Trainer's to set.
"""

from __future__ import annotations

from typing import Any

from tonnage.manifests.failing import active_deadline
from tonnage.manifests.naming import attempt_name, labels_of
from tonnage.manifests.pods.pod import make_pod
from tonnage.manifests.pods.wiring import framework_of
from tonnage.manifests.request import Manifest, RenderRequest
from tonnage.manifests.targets.frame import Framed, namespace_of, suspension, workload
from tonnage.manifests.targets.jobset import ROLE, gang_in, jobset_policies, replicated_job, room_for

STEP = {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
FRAMEWORK_LABEL = "trainer.kubeflow.org/framework"
_TORCH = ("", "torch", "deepspeed")
_TORCH_VARIABLES = frozenset(
    {"PET_NNODES", "PET_NPROC_PER_NODE", "PET_NODE_RANK", "PET_MASTER_ADDR", "PET_MASTER_PORT"}
)
_JAX_VARIABLES = frozenset({"JAX_NUM_PROCESSES", "JAX_PROCESS_ID", "JAX_COORDINATOR_ADDRESS"})


def render_trainjob(request: RenderRequest) -> Framed:
    nodes = request.planned.nodes
    name = attempt_name(request.run.metadata.name, request.attempt, room_for(nodes))
    policy, theirs = _policy(request)
    gang = gang_in(name, nodes, container=ROLE, theirs=theirs)
    made = make_pod(request, gang)
    api_version = request.facts.served["TrainJob"]
    job = replicated_job(request, made.template, gang.container, STEP)
    spec: dict[str, Any] = {
        **suspension(request),
        "runtimeRef": {"apiGroup": api_version.partition("/")[0], "kind": "TrainingRuntime", "name": name},
        "trainer": {"numNodes": nodes, "numProcPerNode": request.planned.ranks_per_node},
    }
    deadline = active_deadline(request)
    if deadline is not None:
        spec["activeDeadlineSeconds"] = deadline
    return Framed(
        workload=workload(request, api_version, "TrainJob", name, spec),
        before=(_runtime(request, api_version, name, policy, job),),
        notes=made.notes,
    )


def _policy(request: RenderRequest) -> tuple[dict[str, Any], frozenset[str]]:
    """Trainer's own wiring for the framework, and the variables it then sets."""
    framework = framework_of(request.run)
    if framework in _TORCH:
        return {"torch": {}}, _TORCH_VARIABLES
    if framework == "jax":
        return {"jax": {}}, _JAX_VARIABLES
    return {}, frozenset()


def _runtime(
    request: RenderRequest, api_version: str, name: str, policy: dict[str, Any], job: dict[str, Any]
) -> Manifest:
    framework = framework_of(request.run) or "torch"
    return {
        "apiVersion": api_version,
        "kind": "TrainingRuntime",
        "metadata": {
            "name": name,
            "namespace": namespace_of(request),
            "labels": {**labels_of(request), FRAMEWORK_LABEL: framework},
        },
        "spec": {
            "mlPolicy": {"numNodes": request.planned.nodes, **policy},
            "template": {"spec": {**jobset_policies(request), "replicatedJobs": [job]}},
        },
    }
