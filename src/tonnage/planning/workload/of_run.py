"""A Run as a `Workload`: the pods it would become, good enough to ask the scheduler's and admission's rules.

What the document leaves to us (`memory: auto`) stays out of the pod until somebody has worked it out. The rest
is what a Run promises: it tolerates the taint of GPU nodes by itself, keeps off spot nodes unless told
otherwise, mounts what it names, and `podTemplate` is laid over the finished pod last.
"""

from __future__ import annotations

from typing import Any

from tonnage.cluster.gpus import GPU_TYPES, GpuType, find_gpu
from tonnage.planning.workload.decoding import PRODUCT_LABEL, SHM, Unreadable, gpus_of, pod_of, trainer_of
from tonnage.planning.workload.durability import Durability, durability_of_place
from tonnage.planning.workload.kinds import QUEUE_LABEL
from tonnage.planning.workload.merging import merged
from tonnage.planning.workload.saving import mount_of
from tonnage.planning.workload.spot import spot_terms, spot_tolerations
from tonnage.planning.workload.value import CheckpointTarget, GpuWish, Mount, Role, Unknown, Workload
from tonnage.spec.literals import Duration, Gpus, Place
from tonnage.spec.run import Run, RunSpec
from tonnage.spec.run.storage import Volume

MAIN = "main"
GPU = "nvidia.com/gpu"
OUR_PRIORITIES = ("critical", "high", "normal", "low")
"""PriorityClasses that are made when missing, so a pod that names one is never refused for it."""
_NOMINAL = 0.925, 1.075
"""GPU memory is named in round figures: an "80 GB" H100 has 85.5e9 bytes, a "24 GB" L4 24.2e9."""


def workload_of_run(
    run: Run, *, namespace: str | None = None, file: str = "", line: int | None = None
) -> Workload:
    """The workload of a Run; `namespace` is its team's, for a document that names none."""
    spec = run.spec
    space = run.metadata.namespace or namespace or "default"
    role = _role(run, space)
    return Workload(
        kind="Run",
        name=run.metadata.name,
        namespace=space,
        roles=(role,),
        checkpoints=_checkpoints(spec, role.mounts),
        steps=spec.train.steps,
        deadline_seconds=_seconds(spec.deadline),
        max_wait_seconds=_seconds(spec.max_wait),
        queue=spec.queue or "",
        team=spec.team or "",
        priority_class=spec.priority,
        spot=spec.spot.use,
        accepts_losing_work=spec.i_accept_losing_work,
        framework="" if spec.framework == "auto" else spec.framework,
        unknown=tuple(_unknown(spec)),
        remarks=tuple(_remarks(spec)),
        file=file,
        line=line,
        run=run,
    )


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


def _role(run: Run, namespace: str) -> Role:
    spec = run.spec
    template = merged(_template(run), spec.pod_template)
    try:
        pod = pod_of(template, f"{run.metadata.name}-0", namespace)
    except Unreadable:  # a patch Kubernetes would refuse: plan what the document itself says
        template = _template(run)
        pod = pod_of(template, f"{run.metadata.name}-0", namespace)
    trainer = trainer_of(template, pod)
    wish = gpus_of(pod)
    if wish.kind == "whole" or spec.gpus.milli:
        types = wish.types or tuple(gpu.name for gpu in gpu_types_within(spec.gpus))
        milli = spec.gpus.milli if spec.gpus.is_fraction else wish.milli
        wish = GpuWish(milli, wish.kind, wish.resource, types, wish.profile)
    return Role(
        name="node",
        count=spec.nodes.low,
        pod=pod,
        gpus=wish,
        ranks_per_pod=spec.processes_per_node or max(wish.count, 1),
        command=trainer.command,
        env=tuple(trainer.env.items()),
        mounts=trainer.mounts,
        shm_bytes=None if spec.shm.limit is None else spec.shm.limit.bytes,
        container=MAIN,
    )


def _template(run: Run) -> dict[str, Any]:
    spec = run.spec
    mounts, volumes = _volumes(spec)
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
        "nodeSelector": _selector(spec.gpus),
        "tolerations": _tolerations(spec),
        "affinity": _affinity(spec),
        "hostNetwork": spec.network.host_network,
        "serviceAccountName": spec.service_account or "",
    }
    if spec.priority not in OUR_PRIORITIES:
        pod["priorityClassName"] = spec.priority
    grace = spec.checkpoints.grace.duration if spec.checkpoints is not None else None
    if grace is not None:
        pod["terminationGracePeriodSeconds"] = _seconds(grace)
    labels = {"tonnage.dev/run": run.metadata.name, **spec.labels}
    if spec.queue:
        labels[QUEUE_LABEL] = spec.queue
    return {"metadata": {"name": f"{run.metadata.name}-0", "labels": labels}, "spec": pod}


def _resources(spec: RunSpec) -> dict[str, dict[str, str]]:
    requests: dict[str, str] = {}
    limits: dict[str, str] = {}
    for name, share in (("memory", spec.memory), ("ephemeral-storage", spec.disk)):
        if share.request is not None and share.limit is not None:
            requests[name], limits[name] = str(share.request.bytes), str(share.limit.bytes)
    if spec.cpu.request is not None and spec.cpu.limit is not None:
        requests["cpu"], limits["cpu"] = f"{spec.cpu.request.milli}m", f"{spec.cpu.limit.milli}m"
    count = -(-spec.gpus.milli // 1000)
    if count:
        requests[GPU] = limits[GPU] = str(count)
    return {"requests": requests, "limits": limits}


def _selector(gpus: Gpus) -> dict[str, str]:
    """One named GPU type is a node selector; several are an affinity."""
    types = gpu_types_within(gpus)
    return {PRODUCT_LABEL: types[0].product} if len(types) == 1 and gpus.milli else {}


def _affinity(spec: RunSpec) -> dict[str, Any] | None:
    types = gpu_types_within(spec.gpus)
    shared = (
        [{"key": PRODUCT_LABEL, "operator": "In", "values": [gpu.product for gpu in types]}]
        if len(types) > 1 and spec.gpus.milli
        else []
    )
    terms = [
        {"matchExpressions": [*lines, *shared]} for lines in spot_terms(spec.spot.use) if lines or shared
    ]
    if not terms:
        return None
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}


def _tolerations(spec: RunSpec) -> list[dict[str, str]]:
    gpu = [{"key": GPU, "operator": "Exists", "effect": "NoSchedule"}] if spec.gpus.milli else []
    return [*gpu, *spot_tolerations(spec.spot.use)]


def _volumes(spec: RunSpec) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Mounts and volumes of everything the document names."""
    shm: dict[str, Any] = {"medium": "Memory"}
    if spec.shm.limit is not None:
        shm["sizeLimit"] = str(spec.shm.limit.bytes)
    found: list[tuple[str, dict[str, Any], bool]] = [(SHM, {"emptyDir": shm}, False)]
    found += [(volume.mount, _source(volume), volume.read_only) for volume in spec.volumes]
    places = [(item.mount, item.source, True) for item in spec.data]
    places += [(part.mount, part.to, False) for part in (spec.checkpoints, spec.output) if part is not None]
    found += [
        (mount, source, read_only) for mount, place, read_only in places if (source := _place_source(place))
    ]
    mounts = [
        {"name": f"volume-{index}", "mountPath": mount, "readOnly": read_only}
        for index, (mount, _, read_only) in enumerate(found)
    ]
    return mounts, [{"name": f"volume-{index}", **source} for index, (_, source, _) in enumerate(found)]


def _source(volume: Volume) -> dict[str, Any]:
    if volume.pvc is not None:
        return {"persistentVolumeClaim": {"claimName": volume.pvc, "readOnly": volume.read_only}}
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
            return {"nfs": {"server": place.name, "path": place.path}}
        case "emptyDir":
            return {"emptyDir": {}}
    return None


def _checkpoints(spec: RunSpec, mounts: tuple[Mount, ...]) -> CheckpointTarget | None:
    checkpoints = spec.checkpoints
    if checkpoints is None:
        return None
    return CheckpointTarget(
        durability=_durability(checkpoints.to, mounts),
        mount=checkpoints.mount,
        every_seconds=_seconds(checkpoints.every.duration),
        keep=checkpoints.keep,
        grace_seconds=_seconds(checkpoints.grace.duration),
        evidence="spec.checkpoints.to",
    )


def _durability(place: Place, mounts: tuple[Mount, ...]) -> Durability:
    """A bare path is as durable as the volume it lies in."""
    if place.scheme == "path" and (mount := mount_of(place.path, mounts)) is not None:
        return mount.durability
    return durability_of_place(place)


def _unknown(spec: RunSpec) -> list[Unknown]:
    found = []
    if spec.model is None or (spec.model.step is None and spec.model.shape is None):
        found.append(Unknown("model", "spec.model is not said: a step to trace, or a shape"))
    if spec.train.steps is None:
        found.append(Unknown("steps", "spec.train.steps is not said"))
    if spec.checkpoints is None:
        found.append(Unknown("checkpoints", "spec.checkpoints is not said: no progress is kept"))
    return found


def _remarks(spec: RunSpec) -> list[str]:
    remarks = []
    if spec.nodes.is_range:
        remarks.append(f"nodes {spec.nodes}: planned for {spec.nodes.low}; it may grow to {spec.nodes.high}")
    if spec.gpus.type is not None and find_gpu(spec.gpus.type) is None:
        remarks.append(f"gpus: {spec.gpus.type} is not a GPU type in our table; any GPU is planned")
    return remarks


def _seconds(duration: Duration | None) -> int | None:
    return None if duration is None else -(-duration.milliseconds // 1000)
