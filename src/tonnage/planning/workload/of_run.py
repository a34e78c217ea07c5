"""A Run as a `Workload`: the pods it would become, good enough to ask the scheduler's and admission's rules.

What the document leaves to us (`memory: auto`) stays out of the pod until somebody has worked it out. The rest
is what a Run promises: it tolerates the taint of GPU nodes by itself, keeps off spot nodes unless told
otherwise, mounts what it names, and `podTemplate` is laid over the finished pod last.
"""

from __future__ import annotations

from tonnage.cluster.gpus import find_gpu
from tonnage.planning.workload.decoding import Unreadable, gpus_of, pod_of, trainer_of
from tonnage.planning.workload.durability import Durability, durability_of_place
from tonnage.planning.workload.merging import merged
from tonnage.planning.workload.saving import mount_of
from tonnage.planning.workload.template import (
    MAIN,
    NodeLabels,
    gpu_types_within,
    pod_template,
    whole_seconds,
)
from tonnage.planning.workload.value import CheckpointTarget, GpuWish, Mount, Role, Unknown, Workload
from tonnage.spec.literals import Duration, Place
from tonnage.spec.run import Run, RunSpec


def workload_of_run(
    run: Run, *, namespace: str | None = None, file: str = "", line: int | None = None
) -> Workload:
    """The workload of a Run; `namespace` is its team's, for a document that names none."""
    spec = run.spec
    space = run.metadata.namespace or namespace or "default"
    role = role_of_run(run, space)
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


def role_of_run(run: Run, namespace: str, labels: NodeLabels | None = None) -> Role:
    """All nodes of a Run are alike; `labels` are those that nodes are told apart by."""
    spec = run.spec
    template = merged(pod_template(run, labels), spec.pod_template)
    try:
        pod = pod_of(template, f"{run.metadata.name}-0", namespace)
    except Unreadable:  # a patch Kubernetes would refuse: plan what the document itself says
        template = pod_template(run, labels)
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
    return found


def _remarks(spec: RunSpec) -> list[str]:
    remarks = []
    if spec.nodes.is_range:
        remarks.append(f"nodes {spec.nodes}: planned for {spec.nodes.low}; it may grow to {spec.nodes.high}")
    if spec.gpus.type is not None and find_gpu(spec.gpus.type) is None:
        remarks.append(f"gpus: {spec.gpus.type} is not a GPU type in our table; any GPU is planned")
    return remarks


def _seconds(duration: Duration | None) -> int | None:
    return None if duration is None else whole_seconds(duration)
