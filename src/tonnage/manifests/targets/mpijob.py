"""An MPIJob: a launcher without GPUs runs mpirun, workers hold the GPUs and wait for their ranks.

Two operators serve the kind. The Training Operator's (v1) gives the launcher a shell that reaches workers through the
API server, so nothing but OpenMPI is needed in the image; the MPI Operator's (v2beta1) reaches them by ssh, and the
image must bring its daemon. Ranks run inside the workers' containers, under their limits: the agent there sees their
memory. A command that is not mpirun already is started by it, once per rank.
"""

from __future__ import annotations

from typing import Any

from tonnage.manifests.amounts import amounts_of
from tonnage.manifests.codes import NO_QUEUE_FOR_TARGET, refuse
from tonnage.manifests.delivering import is_watched
from tonnage.manifests.naming import attempt_name
from tonnage.manifests.pods.commands import AGENT_FILE, AGENT_FOLDER
from tonnage.manifests.pods.pod import Made, make_pod
from tonnage.manifests.pods.wiring import REPLICA_INDEX, Gang
from tonnage.manifests.request import RenderRequest
from tonnage.manifests.targets.frame import Framed, workload
from tonnage.manifests.targets.replicas import replica, room_for, run_policy
from tonnage.planning.workload.launching import launcher_of, words_of
from tonnage_agent import contract

WAITING = ["sleep", "365d"]
LISTENING = ["/usr/sbin/sshd", "-De"]
"""What a worker runs until its ranks are started in it, as each operator itself would."""
V2 = "kubeflow.org/v2beta1"
CONTAINER = "mpi"
SOCKET = "/tmp/tonnage-agent.sock"
_PLACING = ("nodeSelector", "tolerations", "affinity")


def render_mpijob(request: RenderRequest) -> Framed:
    api_version = request.facts.served["MPIJob"]
    is_v2 = api_version == V2
    if request.facts.queue and not is_v2:
        raise refuse(
            NO_QUEUE_FOR_TARGET,
            f"queue {request.facts.queue} cannot hold an MPIJob v1: Kueue admits only v2beta1",
            where="spec.queue",
            hint="leave queue out, or start the ranks with torchrun (framework: torch)",
        )
    nodes = request.planned.nodes
    name = attempt_name(request.run.metadata.name, request.attempt, max(room_for(nodes), len("-launcher")))
    worker, launcher = _worker(request, is_v2=is_v2), _launcher(request, is_v2=is_v2)
    spec: dict[str, Any] = {
        "slotsPerWorker": request.planned.ranks_per_node,
        "runPolicy": run_policy(request),
        "mpiReplicaSpecs": {
            "Launcher": replica(launcher.template, 1),
            "Worker": replica(worker.template, nodes),
        },
    }
    if not is_v2:
        spec["mainContainer"] = CONTAINER
    return Framed(
        workload=workload(request, api_version, "MPIJob", name, spec), notes=(*worker.notes, *launcher.notes)
    )


def _worker(request: RenderRequest, *, is_v2: bool) -> Made:
    """A pod that holds GPUs and waits; an ssh daemon must be allowed to change its user."""
    waiting = LISTENING if is_v2 else WAITING
    made = make_pod(request, Gang(container=CONTAINER, index=REPLICA_INDEX), becomes=lambda _words: waiting)
    for container in made.template["spec"]["containers"]:
        if container["name"] != CONTAINER:
            continue
        if is_v2:
            container["securityContext"]["capabilities"].pop("drop", None)
        if is_watched(request):
            _open_to_ranks(container["env"])
    return made


def _open_to_ranks(env: list[dict[str, Any]]) -> None:
    """Ranks come through a shell, not from the agent: what it gives its own children they find in the container."""
    archive = f"{AGENT_FOLDER}/{AGENT_FILE}"
    named = next((entry for entry in env if entry["name"] == "PYTHONPATH" and "value" in entry), None)
    if named is None:
        env.append({"name": "PYTHONPATH", "value": archive})
    else:
        named["value"] = f"{named['value']}:{archive}"
    env.append({"name": contract.SOCKET, "value": SOCKET})


def _launcher(request: RenderRequest, *, is_v2: bool) -> Made:
    """The pod that runs mpirun: the same but small, anywhere, and allowed to reach its workers."""
    made = make_pod(request, Gang(container=CONTAINER), becomes=lambda words: _by_mpirun(words, request))
    spec = made.template["spec"]
    amounts = amounts_of(request.planned, request.size, request.run.spec.priority)
    for field in _PLACING:
        spec.pop(field, None)
    if not is_v2:
        spec.pop("automountServiceAccountToken", None)
    for container in spec["containers"]:
        if container["name"] == CONTAINER:
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
