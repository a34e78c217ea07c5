"""An MPIJob (v1): a launcher without GPUs runs mpirun, workers hold the GPUs and wait for their ranks.

The operator gives the launcher a hostfile and a shell that reaches workers through the API server, so nothing but
OpenMPI is needed in the image. Ranks run inside the workers' containers, under their limits: the agent there sees
their memory. A command that is not mpirun already is started by it, once per rank.
"""

from __future__ import annotations

from typing import Any

from tonnage.manifests.amounts import amounts_of
from tonnage.manifests.codes import NO_QUEUE_FOR_TARGET, refuse
from tonnage.manifests.naming import attempt_name
from tonnage.manifests.pods.pod import Made, make_pod
from tonnage.manifests.pods.wiring import REPLICA_INDEX, Gang
from tonnage.manifests.request import RenderRequest
from tonnage.manifests.targets.frame import Framed, workload
from tonnage.manifests.targets.replicas import API, replica, room_for, run_policy
from tonnage.planning.workload.launching import launcher_of, words_of
from tonnage_agent import contract

WAITING = ["sleep", "365d"]
"""What a worker runs until its ranks are started in it, as the operator itself would."""
_PLACING = ("nodeSelector", "tolerations", "affinity")


def render_mpijob(request: RenderRequest) -> Framed:
    if request.facts.queue:
        raise refuse(
            NO_QUEUE_FOR_TARGET,
            f"queue {request.facts.queue} cannot hold an MPIJob v1: Kueue admits only v2beta1",
            where="spec.queue",
            hint="leave queue out, or start the ranks with torchrun (framework: torch)",
        )
    nodes = request.planned.nodes
    name = attempt_name(request.run.metadata.name, request.attempt, max(room_for(nodes), len("-launcher")))
    worker = make_pod(request, Gang(container="mpi", index=REPLICA_INDEX), becomes=lambda _words: WAITING)
    launcher = _launcher(request)
    spec = {
        "slotsPerWorker": request.planned.ranks_per_node,
        "mainContainer": "mpi",
        "runPolicy": run_policy(request),
        "mpiReplicaSpecs": {
            "Launcher": replica(launcher.template, 1),
            "Worker": replica(worker.template, nodes),
        },
    }
    return Framed(
        workload=workload(request, API, "MPIJob", name, spec), notes=(*worker.notes, *launcher.notes)
    )


def _launcher(request: RenderRequest) -> Made:
    """The pod that runs mpirun: the same but small, anywhere, and allowed to reach its workers."""
    made = make_pod(request, Gang(container="mpi"), becomes=lambda words: _by_mpirun(words, request))
    spec = made.template["spec"]
    amounts = amounts_of(request.planned, request.size, request.run.spec.priority)
    for field in _PLACING:
        spec.pop(field, None)
    spec.pop("automountServiceAccountToken", None)
    for container in spec["containers"]:
        if container["name"] == "mpi":
            container["resources"] = amounts.small()
            _as_launcher(container["env"], request)
    _shrink_shm(spec)
    return made


def _by_mpirun(words: list[str], request: RenderRequest) -> list[str]:
    if launcher_of(words_of(words)):
        return words
    ranks = request.planned.nodes * request.planned.ranks_per_node
    return [
        "mpirun",
        "--allow-run-as-root",
        "-np",
        str(ranks),
        "--bind-to",
        "none",
        "--map-by",
        "slot",
        *words,
    ]


def _as_launcher(env: list[dict[str, Any]], request: RenderRequest) -> None:
    """The launcher comes after the last worker, so that their records do not meet."""
    for entry in env:
        if entry["name"] == contract.NODE:
            entry["value"] = str(request.planned.nodes)


def _shrink_shm(spec: dict[str, Any]) -> None:
    """The launcher trains nothing: a memory volume as large as a trainer's would be more than it may use."""
    for volume in spec["volumes"]:
        if volume["name"] == "shm":
            volume["emptyDir"] = {"medium": "Memory", "sizeLimit": "64Mi"}
