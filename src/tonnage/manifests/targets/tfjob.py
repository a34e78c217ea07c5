"""A TFJob of Workers; the first acts as chief, and TF_CONFIG is the operator's to write."""

from __future__ import annotations

from tonnage.manifests.naming import attempt_name
from tonnage.manifests.pods.pod import make_pod
from tonnage.manifests.pods.wiring import REPLICA_INDEX, Gang
from tonnage.manifests.request import RenderRequest
from tonnage.manifests.targets.frame import Framed, workload
from tonnage.manifests.targets.replicas import API, replica, room_for, run_policy


def render_tfjob(request: RenderRequest) -> Framed:
    nodes = request.planned.nodes
    name = attempt_name(request.run.metadata.name, request.attempt, room_for(nodes))
    hosts = tuple(f"{name}-worker-{index}" for index in range(nodes))
    gang = Gang(
        container="tensorflow",
        index=REPLICA_INDEX,
        hosts=hosts if nodes > 1 else (),
        theirs=frozenset({"TF_CONFIG"}),
        port_name="tfjob-port",
    )
    made = make_pod(request, gang)
    spec = {
        "successPolicy": "AllWorkers",
        "runPolicy": run_policy(request),
        "tfReplicaSpecs": {"Worker": replica(made.template, nodes)},
    }
    return Framed(workload=workload(request, API, "TFJob", name, spec), notes=made.notes)
