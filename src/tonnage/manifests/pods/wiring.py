"""How the ranks of a gang find each other: variables by framework, given the hosts of the gang.

A target says where the index of a pod comes from and what its pods are called; the rest follows. Each launcher
reads its own variables: `torchrun` every flag as PET_*, plain torch MASTER_ADDR and RANK, JAX its coordinator,
TensorFlow a JSON text. Variables that a target's controller sets itself are left to it.
"""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass
from typing import Any

from tonnage.manifests.request import RenderRequest
from tonnage.planning.workload.launching import launcher_of, words_of
from tonnage.spec.run import Run
from tonnage_agent import contract

JOB_INDEX = "metadata.annotations['batch.kubernetes.io/job-completion-index']"
REPLICA_INDEX = "metadata.labels['training.kubeflow.org/replica-index']"
METRICS_PORT = 9464
MASTER_PORT = 29500
PEERS_PORT = 29601
_HOST_PORTS = 20000, 9000
"""First and number of ports for runs on the node's own network: below NodePorts and ephemeral ones."""
_FRAMEWORKS = {"torchrun": "torch", "accelerate": "torch", "deepspeed": "deepspeed", "horovodrun": "horovod"}
_MPI = ("mpirun", "mpiexec")
Entry = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Ports:
    """Where ranks meet, where agents greet each other, where metrics are read."""

    master: int = MASTER_PORT
    peers: int = PEERS_PORT
    metrics: int = METRICS_PORT


@dataclass(frozen=True, slots=True, kw_only=True)
class Gang:
    """What a target knows about its pods."""

    container: str = "main"
    """Name its controller expects of the container that trains."""
    index: str = ""
    """Field of the pod that holds its index; empty for a single pod."""
    hosts: tuple[str, ...] = ()
    """Names under which the pods reach each other, by index; empty for a single pod."""
    theirs: frozenset[str] = frozenset()
    """Variables that the target's controller sets by itself."""
    port_name: str = ""
    """Name its controller expects of the port where ranks meet."""


def framework_of(run: Run) -> str:
    """The framework the document names, or the one its launcher gives away; empty where neither says."""
    if run.spec.framework != "auto":
        return run.spec.framework
    launcher = launcher_of(words_of(run.spec.command or ()))
    return "mpi" if launcher in _MPI else _FRAMEWORKS.get(launcher, "")


def ports_of(run: Run) -> Ports:
    """Ports of a run; on the node's own network each run has its own, so that two do not meet by accident."""
    if not run.spec.network.host_network:
        return Ports()
    first, count = _HOST_PORTS
    start = first + zlib.crc32(run.metadata.name.encode()) % (count // 3) * 3
    return Ports(start, start + 1, start + 2)


def wiring(request: RenderRequest, gang: Gang) -> list[Entry]:
    """Variables by which ranks find each other; the index first, since others refer to it."""
    nodes, ranks = request.planned.nodes, request.planned.ranks_per_node
    found = [_index(gang), _plain(contract.NODES, str(nodes))]
    ports = ports_of(request.run)
    framework = framework_of(request.run)
    if framework in ("", "torch", "deepspeed", "xgboost", "other"):
        found += _torch(gang, ports, nodes, ranks)
    if framework == "jax" and nodes > 1:
        found += _jax(gang, ports, nodes)
    if framework == "tensorflow" and nodes > 1:
        found.append(_plain("TF_CONFIG", _tf_config(gang, ports)))
    if gang.hosts:
        found.append(_plain(contract.PEERS, ",".join(f"{host}:{ports.peers}" for host in gang.hosts)))
    if interface := request.run.spec.network.interface:
        found += [_plain(name, interface) for name in ("NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME")]
    return [entry for entry in found if entry["name"] not in gang.theirs]


def _torch(gang: Gang, ports: Ports, nodes: int, ranks: int) -> list[Entry]:
    """Nothing for a single process: with RANK set, libraries would look for others."""
    if nodes == 1:
        alone = {"PET_NNODES": "1", "PET_NPROC_PER_NODE": str(ranks), "PET_MASTER_PORT": str(ports.master)}
        return [_plain(name, value) for name, value in alone.items()] if ranks > 1 else []
    first = gang.hosts[0]
    values = {
        "MASTER_ADDR": first,
        "MASTER_PORT": str(ports.master),
        "WORLD_SIZE": str(nodes * ranks),
        "NNODES": str(nodes),
        "PET_NNODES": str(nodes),
        "PET_NPROC_PER_NODE": str(ranks),
        "PET_MASTER_ADDR": first,
        "PET_MASTER_PORT": str(ports.master),
    }
    own = ["NODE_RANK", "PET_NODE_RANK"]
    if ranks == 1:  # with several processes in a pod each has its own, from whoever starts them
        own.append("RANK")
        values["LOCAL_RANK"] = "0"
    return [_plain(name, value) for name, value in values.items()] + [_own(name) for name in own]


def _jax(gang: Gang, ports: Ports, nodes: int) -> list[Entry]:
    return [
        _plain("JAX_COORDINATOR_ADDRESS", f"{gang.hosts[0]}:{ports.master}"),
        _plain("JAX_NUM_PROCESSES", str(nodes)),
        _own("JAX_PROCESS_ID"),
    ]


def _tf_config(gang: Gang, ports: Ports) -> str:
    """As TFJob writes it; Kubernetes puts the index in."""
    workers = json.dumps([f"{host}:{ports.master}" for host in gang.hosts])
    task = f'{{"type": "worker", "index": $({contract.NODE})}}'
    return f'{{"cluster": {{"worker": {workers}}}, "task": {task}}}'


def _index(gang: Gang) -> Entry:
    if not gang.index:
        return _plain(contract.NODE, "0")
    return {"name": contract.NODE, "valueFrom": {"fieldRef": {"fieldPath": gang.index}}}


def _own(name: str) -> Entry:
    """A variable with this pod's index."""
    return _plain(name, f"$({contract.NODE})")


def _plain(name: str, value: str) -> Entry:
    return {"name": name, "value": value}
