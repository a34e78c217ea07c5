"""A PyTorchJob whose ranks are all Workers.

Beside a Master the operator puts an init container into every worker, with limits above its requests, and no worker
is Guaranteed any more. Without one it sets the number of nodes and processes and leaves the rest to us: the first
worker is the master, each has a Service of its name.
"""

from __future__ import annotations

from tonnage.manifests.naming import attempt_name
from tonnage.manifests.pods.pod import make_pod
from tonnage.manifests.pods.wiring import REPLICA_INDEX, Gang
from tonnage.manifests.request import RenderRequest
from tonnage.manifests.targets.frame import Framed, workload
from tonnage.manifests.targets.replicas import API, replica, room_for, run_policy

_THEIRS = frozenset({"PET_NNODES", "PET_NPROC_PER_NODE", "PYTHONUNBUFFERED"})


def render_pytorchjob(request: RenderRequest) -> Framed:
    nodes = request.planned.nodes
    name = attempt_name(request.run.metadata.name, request.attempt, room_for(nodes))
    hosts = tuple(f"{name}-worker-{index}" for index in range(nodes))
    gang = Gang(
        container="pytorch",
        index=REPLICA_INDEX,
        hosts=hosts if nodes > 1 else (),
        theirs=_THEIRS,
        port_name="pytorchjob-port",
    )
    made = make_pod(request, gang)
    spec = {
        "nprocPerNode": str(request.planned.ranks_per_node),
        "runPolicy": run_policy(request),
        "pytorchReplicaSpecs": {"Worker": replica(made.template, nodes)},
    }
    return Framed(workload=workload(request, API, "PyTorchJob", name, spec), notes=made.notes)
