"""Which pods each kind of training manifest makes, how many, and what the object around them decides.

One function per kind, from the manifest as plain values to `Shape`: nothing is taken for granted that is not
written there, or that the controller of that kind would not fill in by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from tonnage.planning.workload.merging import merged

QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
ONE_PER_GPU = "auto"
"""What training-operator and Trainer's torch policy tell torchrun (PET_NPROC_PER_NODE) where nobody says more."""
SET_BY_RUNTIME = "$(PET_NPROC_PER_NODE)"
"""Stands for a count that a runtime we do not know may set, or not."""


class RoleShape(msgspec.Struct):
    """Pods of one role as they are written."""

    name: str
    count: int
    template: dict[str, Any]
    ranks: int | str | None = None
    """Processes per pod where the object says so (`8`, `gpu`); 0 where it trains nothing; None where the
    command decides."""


class Shape(msgspec.Struct):
    """What a manifest makes."""

    roles: list[RoleShape]
    framework: str = ""
    deadline_seconds: int | None = None
    retries: int | None = None
    is_suspended: bool = False
    unknown: list[tuple[str, str]] = msgspec.field(default_factory=list)
    remarks: list[str] = msgspec.field(default_factory=list)


def shape_of(manifest: dict[str, Any]) -> Shape | None:
    """The pods of a manifest of a known kind; None where it has none."""
    spec = _mapping(manifest, "spec")
    kind = str(manifest.get("kind"))
    if kind == "Pod":
        return _pod(manifest, spec)
    return _READERS[kind](spec)


def _pod(manifest: dict[str, Any], spec: dict[str, Any]) -> Shape | None:
    if not spec.get("containers"):
        return None
    template = {"metadata": _mapping(manifest, "metadata"), "spec": spec}
    return Shape([RoleShape("pod", 1, template)], deadline_seconds=_whole(spec, "activeDeadlineSeconds"))


def _job(spec: dict[str, Any]) -> Shape | None:
    template = _mapping(spec, "template")
    if not template:
        return None
    parallelism, completions = _whole(spec, "parallelism"), _whole(spec, "completions")
    count = 1 if parallelism is None else parallelism
    if completions is not None:
        count = min(count, completions) if parallelism is not None else 1
    shape = Shape([RoleShape("job", max(count, 1), template)], **_lifetime(spec))
    if shape.retries is None:
        shape.retries = 6  # Kubernetes' own default
    if parallelism == 0:
        shape.remarks.append("parallelism 0: no pod starts until it is raised; planned as one pod")
    if completions is not None and completions > shape.roles[0].count:
        shape.remarks.append(
            f"{completions} completions, {shape.roles[0].count} at a time: the same pods again and again, not one gang"
        )
    return shape


def _job_set(spec: dict[str, Any]) -> Shape | None:
    roles: list[RoleShape] = []
    deadlines: list[int] = []
    for replicated in _items(spec, "replicatedJobs"):
        inner = _job(_mapping(_mapping(replicated, "template"), "spec"))
        if inner is None:
            continue
        replicas = _whole(replicated, "replicas")
        role = inner.roles[0]
        role.name = str(replicated.get("name", "job"))
        role.count *= max(1 if replicas is None else replicas, 1)
        roles.append(role)
        deadlines += [inner.deadline_seconds] if inner.deadline_seconds is not None else []
    if not roles:
        return None
    policy = _mapping(spec, "failurePolicy")
    return Shape(
        roles,
        deadline_seconds=min(deadlines, default=None),
        retries=_whole(policy, "maxRestarts") or 0,
        is_suspended=spec.get("suspend") is True,
    )


def _replicas(
    field_name: str, framework: str, without_ranks: tuple[str, ...], default_ranks: str | None = None
) -> Callable[[dict[str, Any]], Shape | None]:
    """A reader for the Kubeflow kinds of the first generation, which differ in names only."""

    def read(spec: dict[str, Any]) -> Shape | None:
        policy = _mapping(spec, "runPolicy")
        elastic = _mapping(spec, "elasticPolicy")
        processes = elastic.get("nProcPerNode") or spec.get("nprocPerNode") or default_ranks
        roles = []
        for name, replica in _mapping(spec, field_name).items():
            template = _mapping(replica, "template") if isinstance(replica, dict) else {}
            if not template:
                continue
            count = _whole(replica, "replicas")
            ranks: int | str | None = 0 if name in without_ranks else None
            if ranks is None and processes not in (None, ""):
                ranks = processes if isinstance(processes, int) else str(processes)
            roles.append(RoleShape(name, max(1 if count is None else count, 1), template, ranks))
        if not roles:
            return None
        shape = Shape(roles, framework, **_lifetime(policy))
        low, high = _whole(elastic, "minReplicas"), _whole(elastic, "maxReplicas")
        if high is not None and low != high:
            shape.remarks.append(f"elastic: from {low or 1} to {high} workers; planned as written")
        return shape

    return read


def _mpi_job(spec: dict[str, Any]) -> Shape | None:
    shape = _replicas("mpiReplicaSpecs", "mpi", ("Launcher",))(spec)
    if shape is None:
        return None
    slots = _whole(spec, "slotsPerWorker")
    runs_itself = spec.get("runLauncherAsWorker") is True
    for role in shape.roles:
        if role.name != "Launcher" or runs_itself:
            role.ranks = 1 if slots is None else slots
    return shape


def _train_job(spec: dict[str, Any]) -> Shape | None:
    trainer = _mapping(spec, "trainer")
    runtime = _mapping(spec, "runtimeRef").get("name")
    container: dict[str, Any] = {"name": "node"}
    for name in ("image", "command", "args", "env"):
        if trainer.get(name) is not None:
            container[name] = trainer[name]
    if trainer.get("resourcesPerNode"):
        container["resources"] = trainer["resourcesPerNode"]
    template: dict[str, Any] = {"metadata": {}, "spec": {"containers": [container], "restartPolicy": "Never"}}
    for override in _items(spec, "podTemplateOverrides"):
        targets = [target.get("name") for target in _items(override, "targetJobs")]
        if not targets or "node" in targets:
            template = merged(
                template, {key: override[key] for key in ("metadata", "spec") if key in override}
            )
    processes = trainer.get("numProcPerNode")
    is_torch = "torch" in str(runtime)
    if not processes:
        processes = ONE_PER_GPU if is_torch else SET_BY_RUNTIME
    ranks = processes if isinstance(processes, int) else str(processes)
    count = _whole(trainer, "numNodes")
    shape = Shape(
        [RoleShape("node", max(1 if count is None else count, 1), template, ranks)],
        framework="torch" if is_torch else "",
        is_suspended=spec.get("suspend") is True,
    )
    shape.unknown.append(
        (
            "runtime",
            f"what the training runtime {runtime or '(not named)'} adds (image, command, volumes, tolerations, "
            "resources) is in the cluster, not in this file",
        )
    )
    if count is None:
        shape.remarks.append("numNodes is not said: the runtime decides; planned as one node")
    return shape


def _lifetime(spec: dict[str, Any]) -> dict[str, Any]:
    """Deadline, retries and suspension, which Jobs and run policies spell alike."""
    return {
        "deadline_seconds": _whole(spec, "activeDeadlineSeconds"),
        "retries": _whole(spec, "backoffLimit"),
        "is_suspended": spec.get("suspend") is True,
    }


def _mapping(holder: Any, name: str) -> dict[str, Any]:
    value = holder.get(name) if isinstance(holder, dict) else None
    return value if isinstance(value, dict) else {}


def _items(holder: dict[str, Any], name: str) -> list[dict[str, Any]]:
    value = holder.get(name)
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _whole(holder: dict[str, Any], name: str) -> int | None:
    value = holder.get(name)
    return int(value) if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


_READERS: dict[str, Callable[[dict[str, Any]], Shape | None]] = {
    "Job": _job,
    "JobSet": _job_set,
    "TrainJob": _train_job,
    "PyTorchJob": _replicas("pytorchReplicaSpecs", "torch", (), ONE_PER_GPU),
    "TFJob": _replicas("tfReplicaSpecs", "tensorflow", ("PS", "Evaluator")),
    "MPIJob": _mpi_job,
}
