"""The pod a Run becomes, in Kubernetes' own shape: what is planned with, and what is applied later.

Planning asks the scheduler's and admission's rules about this pod; rendering lays the agent, the wiring of ranks and
the amounts that were worked out on top of the very same template. What the document leaves to us (`memory: auto`)
is not in it. The rest is what a Run promises: it tolerates the taint of GPU nodes by itself, keeps off spot nodes
unless told otherwise, mounts what it names, and is Guaranteed where its priority is high.

Which node labels say "this GPU type" or "spot" is an argument: without a cluster to look at, those of GPU feature
discovery and of every cloud we know; with one, those its nodes really carry.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from tonnage.cluster.gpu_labels import PRODUCT as PRODUCT_LABEL
from tonnage.cluster.gpus import GPU_TYPES, GpuType, find_gpu
from tonnage.cost.pricing import SPOT_LABELS
from tonnage.planning.workload.decoding import SHM
from tonnage.planning.workload.spot import spot_terms, spot_tolerations
from tonnage.spec.literals import Duration, Gpus, Place
from tonnage.spec.run import Run, RunSpec
from tonnage.spec.run.storage import Volume

MAIN = "main"
GPU = "nvidia.com/gpu"
RUN_LABEL = "tonnage.dev/run"
OUR_PRIORITIES = ("critical", "high", "normal", "low")
"""PriorityClasses that are made when missing, so a pod that names one is never refused for it."""
GUARANTEED_PRIORITIES = ("critical", "high")
"""Runs of these ask for their limits: nothing on the node can take what they were promised."""
_NOMINAL = 0.925, 1.075
"""GPU memory is named in round figures: an "80 GB" H100 has 85.5e9 bytes, a "24 GB" L4 24.2e9."""
Terms = list[dict[str, Any]]


class NodeLabels(msgspec.Struct, frozen=True):
    """The labels by which nodes are told apart; `None` means: as GPU feature discovery would write them."""

    gpu: Sequence[Terms] | None = None
    """Alternatives of lines that must all hold for a node to have the wanted GPU."""
    spot: Sequence[tuple[str, str]] = SPOT_LABELS


def pod_template(run: Run, labels: NodeLabels | None = None) -> dict[str, Any]:
    """The pod of a Run as the document says it; `podTemplate` is not laid over it yet."""
    spec, known = run.spec, labels or NodeLabels()
    mounts, volumes = _volumes(spec)
    gpu = _gpu_terms(spec.gpus) if known.gpu is None else known.gpu
    container: dict[str, Any] = {
        "name": MAIN,
        "image": spec.image or "",
        "command": list(spec.command or ()),
        "env": [{"name": name, "value": value} for name, value in spec.env.items()],
        "resources": _resources(spec),
        "volumeMounts": mounts,
    }
    pod: dict[str, Any] = {
        "containers": [container],
        "volumes": volumes,
        "restartPolicy": "Never",
        "nodeSelector": _selector(gpu),
        "tolerations": _tolerations(spec, known),
        "affinity": _affinity(run, gpu, known),
        "hostNetwork": spec.network.host_network,
        "serviceAccountName": spec.service_account or "",
    }
    if spec.priority not in OUR_PRIORITIES:
        pod["priorityClassName"] = spec.priority
    grace = spec.checkpoints.grace.duration if spec.checkpoints is not None else None
    if grace is not None:
        pod["terminationGracePeriodSeconds"] = whole_seconds(grace)
    names = {RUN_LABEL: run.metadata.name, **spec.labels}
    return {"metadata": {"name": f"{run.metadata.name}-0", "labels": names}, "spec": pod}


def gpu_types_within(gpus: Gpus) -> tuple[GpuType, ...]:
    """The GPU types that a document's `gpus` allows: the named one, or all whose memory lies in the range."""
    if gpus.type is not None:
        found = find_gpu(gpus.type)
        return (found,) if found is not None else ()
    if gpus.min_memory is None:
        return ()
    low = gpus.min_memory.bytes * _NOMINAL[0]
    high = gpus.max_memory.bytes * _NOMINAL[1] if gpus.max_memory is not None else float("inf")
    return tuple(gpu for gpu in GPU_TYPES if low <= gpu.memory_mib * 2**20 <= high)


def whole_seconds(duration: Duration) -> int:
    """Kubernetes counts whole seconds; never less than was asked for."""
    return -(-duration.milliseconds // 1000)


def _resources(spec: RunSpec) -> dict[str, dict[str, str]]:
    requests: dict[str, str] = {}
    limits: dict[str, str] = {}
    for name, share in (("memory", spec.memory), ("ephemeral-storage", spec.disk)):
        if share.request is not None and share.limit is not None:
            requests[name], limits[name] = str(share.request.bytes), str(share.limit.bytes)
    if spec.cpu.request is not None and spec.cpu.limit is not None:
        requests["cpu"], limits["cpu"] = f"{spec.cpu.request.milli}m", f"{spec.cpu.limit.milli}m"
    if spec.priority in GUARANTEED_PRIORITIES:
        requests = dict(limits)
    count = -(-spec.gpus.milli // 1000)
    if count:
        requests[GPU] = limits[GPU] = str(count)
    return {"requests": requests, "limits": limits}


def _gpu_terms(gpus: Gpus) -> Sequence[Terms]:
    """By GPU feature discovery's label, where a type or a range of memory is asked for."""
    types = gpu_types_within(gpus) if gpus.milli else ()
    values = [gpu.product for gpu in types]
    return [[{"key": PRODUCT_LABEL, "operator": "In", "values": values}]] if values else []


def _selector(gpu: Sequence[Terms]) -> dict[str, str]:
    """Labels that have one value and no alternative are a node selector; others are an affinity."""
    return {line["key"]: line["values"][0] for line in gpu[0]} if _is_selector(gpu) else {}


def _is_selector(gpu: Sequence[Terms]) -> bool:
    return len(gpu) == 1 and all(line["operator"] == "In" and len(line["values"]) == 1 for line in gpu[0])


def _affinity(run: Run, gpu: Sequence[Terms], labels: NodeLabels) -> dict[str, Any] | None:
    spec = run.spec
    wanted = [] if _is_selector(gpu) else gpu
    terms = [
        {"matchExpressions": [*lines, *shared]}
        for lines in spot_terms(spec.spot.use, labels.spot)
        for shared in (wanted or [[]])
        if lines or shared
    ]
    affinity: dict[str, Any] = {}
    if terms:
        required = {"nodeSelectorTerms": terms}
        affinity["nodeAffinity"] = {"requiredDuringSchedulingIgnoredDuringExecution": required}
    if spec.network.host_network and spec.nodes.low > 1:  # two ranks cannot listen on the same port of a node
        apart = {
            "topologyKey": "kubernetes.io/hostname",
            "labelSelector": {"matchLabels": {RUN_LABEL: run.metadata.name}},
        }
        affinity["podAntiAffinity"] = {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}
    return affinity or None


def _tolerations(spec: RunSpec, labels: NodeLabels) -> list[dict[str, str]]:
    gpu = [{"key": GPU, "operator": "Exists", "effect": "NoSchedule"}] if spec.gpus.milli else []
    return [*gpu, *spot_tolerations(spec.spot.use, labels.spot)]


def _volumes(spec: RunSpec) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Mounts and volumes of everything the document names."""
    shm: dict[str, Any] = {"medium": "Memory"}
    if spec.shm.limit is not None:
        shm["sizeLimit"] = str(spec.shm.limit.bytes)
    found = [_mounted("shm", SHM, {"emptyDir": shm})]
    for index, volume in enumerate(spec.volumes):
        found.append(
            _mounted(
                f"volume-{index}", volume.mount, _source(volume), volume.sub_path or "", volume.read_only
            )
        )
    for index, data in enumerate(spec.data):
        found += _placed(f"data-{index}", data.mount, data.source, is_read_only=True)
    for name, part in (("checkpoints", spec.checkpoints), ("output", spec.output)):
        if part is not None:
            found += _placed(name, part.mount, part.to)
    return [mount for mount, _ in found], [volume for _, volume in found]


def _mounted(
    name: str, path: str, source: dict[str, Any], inside: str = "", is_read_only: bool = False
) -> tuple[dict[str, Any], dict[str, Any]]:
    mount: dict[str, Any] = {"name": name, "mountPath": path}
    if inside:
        mount["subPath"] = inside
    if is_read_only:
        mount["readOnly"] = True
    return mount, {"name": name, **source}


def _placed(
    name: str, mount: str, place: Place, *, is_read_only: bool = False
) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    source = _place_source(place)
    if source is None:
        return []
    inside = place.path.strip("/") if place.scheme == "pvc" else ""
    return [_mounted(name, mount, source, inside, is_read_only)]


def _source(volume: Volume) -> dict[str, Any]:
    if volume.pvc is not None:
        read_only = {"readOnly": True} if volume.read_only else {}
        return {"persistentVolumeClaim": {"claimName": volume.pvc, **read_only}}
    if volume.nfs is not None:
        server, _, path = volume.nfs.partition(":")
        return {"nfs": {"server": server, "path": path}}
    if volume.empty_dir is not None:
        return {"emptyDir": {"sizeLimit": str(volume.empty_dir.bytes)}}
    if volume.host_path is not None:
        return {"hostPath": {"path": volume.host_path}}
    if volume.secret is not None:
        return {"secret": {"secretName": volume.secret}}
    return {"configMap": {"name": volume.config_map or ""}}


def _place_source(place: Place) -> dict[str, Any] | None:
    """A place that is mounted as a volume; buckets are reached by their own clients."""
    match place.scheme:
        case "pvc":
            return {"persistentVolumeClaim": {"claimName": place.name}}
        case "nfs":
            return {"nfs": {"server": place.name, "path": place.path or "/"}}
        case "emptyDir":
            return {"emptyDir": {}}
    return None
