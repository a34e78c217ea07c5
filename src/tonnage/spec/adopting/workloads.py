"""Which pods a manifest makes, and how many: one function per kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from tonnage.spec.adopting.taking import Notes, take, take_list, take_mapping

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
SSH_FOLDER = "/root/.ssh"
"""Where the MPI operator puts its keys when nothing is said."""
_NOISE = ("status", "apiVersion", "kind", "metadata")


class Workload(msgspec.Struct):
    """A pod to run, how many of it, and what the object around it says."""

    template: dict[str, Any]
    """`metadata` and `spec` of the pod."""
    nodes: int = 1
    run: dict[str, Any] = msgspec.field(default_factory=dict)
    """Fields of the Run that the object around the pod decides."""
    restarts: bool = True
    """Whether a restartPolicy that Kubernetes would refuse matters here."""


def workload_of(manifest: dict[str, Any], notes: Notes) -> Workload | None:
    """The pods of a manifest of a known kind; None where it has no pod."""
    kind = str(manifest.get("kind"))
    spec = take_mapping(manifest, "spec")
    if "controller-uid" in str(spec.get("selector")):
        del spec["selector"]  # the server's own, in a manifest read back from a cluster
    workload = _READERS[kind](spec, notes)
    if workload is not None and kind == "Pod":
        workload.template["metadata"] = _own_metadata(manifest)
    if workload is not None and spec:
        notes.lost.extend(f"spec.{name}" for name in spec)
    notes.lost.extend(name for name in manifest if name not in _NOISE)
    return workload


def _own_metadata(manifest: dict[str, Any]) -> dict[str, Any]:
    """A bare Pod's labels and annotations: those of the pods that the Run will make, not of the document."""
    metadata = manifest.get("metadata")
    if not isinstance(metadata, dict):
        return {}
    annotations = take_mapping(metadata, "annotations")
    annotations.pop(LAST_APPLIED, None)
    return {"labels": take_mapping(metadata, "labels"), "annotations": annotations}


def _pod(spec: dict[str, Any], _: Notes) -> Workload | None:
    pod = dict(spec)
    spec.clear()
    return Workload({"spec": pod}, restarts=False)


def _job(spec: dict[str, Any], notes: Notes) -> Workload | None:
    template = take_mapping(spec, "template")
    mode = take(spec, "completionMode", str)
    completions, parallelism = take(spec, "completions", int), take(spec, "parallelism", int)
    nodes = max(parallelism or 1, 1)
    workload = Workload(template, nodes, _lifetime(spec, notes))
    if mode == "Indexed":
        workload.nodes = max(completions or nodes, 1)
        if (completions or nodes) != nodes:
            notes.lost.append(
                f"parallelism {nodes} below completions {completions}: all nodes start together"
            )
        workload.run["target"] = "IndexedJob"
    elif nodes > 1 or (completions or 1) > 1:
        notes.truths.append(
            f"a Job with parallelism {nodes} and completions {completions or 'not set'} starts pods that do "
            "not know each other; a Run starts ranks of one training"
        )
    return workload if template else None


def _job_set(spec: dict[str, Any], notes: Notes) -> Workload | None:
    jobs = take_list(spec, "replicatedJobs")
    if not jobs:
        return None
    policy = take_mapping(spec, "failurePolicy")
    chosen = max(jobs, key=_gpus_of_replicated)
    for job in jobs:
        if job is not chosen:
            notes.lost.append(f"replicatedJobs {job.get('name')}: a Run has one kind of rank")
    template = take_mapping(chosen, "template")
    inner = take_mapping(template, "spec")
    workload = _job(inner, notes)
    if workload is None:
        return None
    for name, values in take_mapping(template, "metadata").items():
        notes.lost.extend(
            f"replicatedJobs[].template.metadata.{name} {key}"
            for key in (values if isinstance(values, dict) else ())
        )
    workload.nodes *= max(take(chosen, "replicas", int) or 1, 1)
    workload.run = _lifetime(spec, notes) | workload.run | {"target": "JobSet"}
    restarts = take(policy, "maxRestarts", int)
    if restarts is not None:
        if workload.run.get("retries"):
            notes.lost.append(f"backoffLimit {workload.run['retries']}: maxRestarts {restarts} is taken")
        workload.run["retries"] = restarts
    for name in ("network", "successPolicy", "startupPolicy", "coordinator"):
        if take_mapping(spec, name):
            notes.lost.append(f"spec.{name}: Tonnage sets it")
    notes.lost.extend(f"failurePolicy.{name}: spec.retries decides by cause" for name in policy)
    notes.lost.extend(f"replicatedJobs[].template.spec.{name}" for name in inner)
    notes.lost.extend(f"replicatedJobs[].{name}" for name in chosen if name not in ("name", "groupName"))
    return workload


def _replicas(
    field_name: str, framework: str, target: str, roles: tuple[str, ...]
) -> Callable[..., Workload | None]:
    """A reader for the Kubeflow kinds, which differ only in names: ranks are the sum of `roles`."""

    def read(spec: dict[str, Any], notes: Notes) -> Workload | None:
        specs = take_mapping(spec, field_name)
        policy = take_mapping(spec, "runPolicy")
        ranks = {role: specs.pop(role) for role in roles if isinstance(specs.get(role), dict)}
        if not ranks:
            return None
        notes.lost.extend(f"{field_name}.{role}: a Run has one kind of rank" for role in specs)
        nodes = sum(max(take(rank, "replicas", int) or 1, 1) for rank in ranks.values())
        templates = [take_mapping(rank, "template") for rank in ranks.values()]
        if any(template != templates[0] for template in templates[1:]):
            notes.lost.append(
                f"{field_name}: its roles differ; the pod of {list(ranks)[-1]} is taken for all"
            )
        run = _lifetime(policy, notes) | {"framework": framework, "target": target}
        processes = (
            spec.pop("nprocPerNode", None) if target == "PyTorchJob" else take(spec, "slotsPerWorker", int)
        )
        if isinstance(processes, int) or (isinstance(processes, str) and processes.isdigit()):
            run["processesPerNode"] = int(processes)
        elif processes not in (None, "auto", "gpu"):
            notes.lost.append(f"nprocPerNode {processes}")
        run |= _elastic(spec, notes)
        notes.lost.extend(f"runPolicy.{name}" for name in policy)
        for rank in ranks.values():
            policy_of_role = rank.pop("restartPolicy", None)
            if policy_of_role not in (None, "Never"):
                notes.lost.append(f"restartPolicy {policy_of_role}: spec.retries decides by cause")
            notes.lost.extend(f"{field_name}.{name}" for name in rank)
        return Workload(templates[-1], nodes, run, restarts=False)

    return read


def _elastic(spec: dict[str, Any], notes: Notes) -> dict[str, Any]:
    """`elasticPolicy` as a range of nodes."""
    policy = take_mapping(spec, "elasticPolicy")
    low, high = policy.get("minReplicas"), policy.get("maxReplicas")
    nodes = {}
    if isinstance(low, int) and isinstance(high, int) and 0 < low <= high:
        nodes = {"nodes": f"{low}..{high}"}
        del policy["minReplicas"], policy["maxReplicas"]
    notes.lost.extend(f"elasticPolicy.{name}: Tonnage sets it" for name in policy)
    return nodes


def _mpi_job(spec: dict[str, Any], notes: Notes) -> Workload | None:
    specs = spec.get("mpiReplicaSpecs")
    launcher = specs.pop("Launcher", None) if isinstance(specs, dict) else None
    workload = _replicas("mpiReplicaSpecs", "mpi", "MPIJob", ("Worker",))(spec, notes)
    if workload is None:
        return None
    if spec.pop("sshAuthMountPath", SSH_FOLDER) != SSH_FOLDER:
        notes.lost.append("sshAuthMountPath: Tonnage makes the launcher, and its keys")
    if take(spec, "mpiImplementation", str) not in (None, "OpenMPI"):
        notes.lost.append("mpiImplementation: OpenMPI is used")
    containers = _containers(launcher)
    if containers:
        command = [*_words(containers[0], "command"), *_words(containers[0], "args")]
        if command:
            workload.run["command"] = command
        notes.lost.append("the launcher's pod, except its command: Tonnage makes one")
    return workload


def _train_job(spec: dict[str, Any], notes: Notes) -> Workload | None:
    trainer = take_mapping(spec, "trainer")
    runtime = take_mapping(spec, "runtimeRef").get("name")
    resources = take_mapping(trainer, "resourcesPerNode")
    nodes = take(trainer, "numNodes", int) or 1
    run: dict[str, Any] = {"target": "TrainJob", **_lifetime(spec, notes)}
    processes = trainer.pop("numProcPerNode", None)
    if isinstance(processes, int):
        run["processesPerNode"] = int(processes)
    elif processes not in (None, "auto", "gpu"):
        notes.lost.append(f"numProcPerNode {processes}")
    if isinstance(runtime, str):
        if "torch" in runtime:
            run["framework"] = "torch"
        notes.lost.append(
            f"runtimeRef {runtime}: what that runtime adds (image, volumes) is not in this file"
        )
    if take_mapping(spec, "initializer"):
        notes.lost.append("initializer: name the dataset under spec.data")
    container = {"name": "trainer", "resources": resources}
    for name in ("image", "command", "args", "env"):
        if name in trainer:
            container[name] = trainer.pop(name)
    notes.lost.extend(f"trainer.{name}" for name in trainer)
    return Workload({"spec": {"containers": [container]}}, max(nodes, 1), run, restarts=False)


def _lifetime(spec: dict[str, Any], notes: Notes) -> dict[str, Any]:
    """Deadline, retries and clean-up, which every job kind spells alike."""
    run: dict[str, Any] = {}
    deadline = take(spec, "activeDeadlineSeconds", int)
    if deadline is not None:
        run["deadline"] = f"{deadline}s"
    keep = take(spec, "ttlSecondsAfterFinished", int)
    if keep is not None:
        run["keep"] = f"{keep}s"
    retries = take(spec, "backoffLimit", int)
    if retries is not None:
        run["retries"] = int(retries)
    if take_mapping(spec, "podFailurePolicy"):
        notes.lost.append("podFailurePolicy: spec.retries decides by cause")
    if spec.get("suspend") is False:
        del spec["suspend"]
    if spec.pop("suspend", False):
        notes.lost.append("suspend: true; a Run starts when it is run")
    if spec.pop("cleanPodPolicy", None) is not None:
        notes.lost.append("cleanPodPolicy: finished pods are kept for spec.keep")
    return run


def _gpus_of_replicated(job: dict[str, Any]) -> tuple[int, int]:
    template = job.get("template")
    inner = template.get("spec") if isinstance(template, dict) else None
    containers = _containers(inner)
    has_gpu = any("gpu" in str(container.get("resources")) for container in containers)
    replicas = job.get("replicas")
    return int(has_gpu), replicas if isinstance(replicas, int) else 1


def _containers(holder: Any) -> list[dict[str, Any]]:
    template = holder.get("template") if isinstance(holder, dict) else None
    spec = template.get("spec") if isinstance(template, dict) else None
    containers = spec.get("containers") if isinstance(spec, dict) else None
    return [item for item in containers if isinstance(item, dict)] if isinstance(containers, list) else []


def _words(container: dict[str, Any], name: str) -> list[str]:
    words = container.get(name)
    return [str(getattr(word, "text", word)) for word in words] if isinstance(words, list) else []


_READERS: dict[str, Callable[[dict[str, Any], Notes], Workload | None]] = {
    "Pod": _pod,
    "Job": _job,
    "JobSet": _job_set,
    "TrainJob": _train_job,
    "PyTorchJob": _replicas("pytorchReplicaSpecs", "torch", "PyTorchJob", ("Master", "Worker")),
    "TFJob": _replicas("tfReplicaSpecs", "tensorflow", "TFJob", ("Chief", "Worker")),
    "MPIJob": _mpi_job,
}
