"""Pods, usage and Jobs with sensible defaults, for tests of what nodes do."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from tonnage.cluster.node.usage import PodUsage
from tonnage.cluster.objects import Container, ContainerStatus, Job, Node, Pod

GIB = 2**30
MIB = 2**20


def a_container(name: str = "c", **parts: Any) -> dict[str, Any]:
    """A container as JSON: `requests={...}`, `limits={...}` and any other field."""
    resources = {kind: parts.pop(kind) for kind in ("requests", "limits") if kind in parts}
    return {"name": name, "resources": resources, **parts}


def a_pod(name: str = "p", *containers: dict[str, Any], **parts: Any) -> Pod:
    """A pod: spec fields by their JSON names, beside `status=`, `labels=`, `annotations=`, `deleted=`..."""
    status = parts.pop("status", {})
    metadata = {
        "name": name,
        "namespace": "ns",
        "uid": f"uid-{name}",
        "labels": parts.pop("labels", {}),
        "annotations": parts.pop("annotations", {}),
        "finalizers": parts.pop("finalizers", []),
    }
    if parts.pop("deleted", False):
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    spec = {"containers": list(containers) or [a_container()], **parts}
    return msgspec.convert({"metadata": metadata, "spec": spec, "status": status}, Pod)


def the_container(pod: Pod, name: str = "c") -> Container:
    """The named container, init or not."""
    return next(c for c in (*pod.spec.containers, *pod.spec.init_containers) if c.name == name)


def a_node(allocatable: dict[str, str] | None = None, **parts: Any) -> Node:
    """A node with 4 cpus, 8Gi and 110 pods unless told otherwise."""
    have = {"cpu": "4", "memory": "8Gi", "pods": "110", "ephemeral-storage": "100Gi", **(allocatable or {})}
    body = {"metadata": {"name": "n", **parts.pop("metadata", {})}, "status": {"allocatable": have}, **parts}
    return msgspec.convert(body, Node)


def usage(pod: str = "p", *, memory: int | None = None, **parts: Any) -> PodUsage:
    """What the kubelet measured of a pod; working set in bytes."""
    body: dict[str, Any] = {"podRef": {"name": pod, "namespace": "ns", "uid": f"uid-{pod}"}, **parts}
    if memory is not None:
        body["memory"] = {"workingSetBytes": memory, "usageBytes": memory}
    return msgspec.convert(body, PodUsage)


def looked_up(usages: Iterable[PodUsage]) -> Any:
    """A function from pod to usage."""
    by_uid = {u.pod_ref.uid: u for u in usages}
    return lambda pod: by_uid.get(pod.metadata.uid)


def ended(name: str = "c", exit_code: int = 1, reason: str = "Error") -> dict[str, Any]:
    """A terminated container status as JSON."""
    return {"name": name, "state": {"terminated": {"exitCode": exit_code, "reason": reason}}}


def running(name: str = "c", restarts: int = 0) -> dict[str, Any]:
    """A running container status as JSON."""
    return {"name": name, "restartCount": restarts, "state": {"running": {}}}


def statuses(*written: dict[str, Any]) -> list[ContainerStatus]:
    """Container statuses from JSON."""
    return [msgspec.convert(status, ContainerStatus) for status in written]


def a_failed_pod(name: str = "p", exit_code: int = 1, **parts: Any) -> Pod:
    """A pod of a Job that ended with this code and is not yet counted."""
    conditions = parts.pop("conditions", [])
    status = {"phase": "Failed", "containerStatuses": [ended(exit_code=exit_code)], "conditions": conditions}
    return a_pod(name, status=status, finalizers=["batch.kubernetes.io/job-tracking"], **parts)


def a_job(**spec: Any) -> Job:
    """A Job of one pod; `status=` and `restart_policy=` beside spec fields by their JSON names."""
    status = spec.pop("status", {})
    template = {"spec": {"restartPolicy": spec.pop("restart_policy", "Never"), "containers": [a_container()]}}
    body = {
        "metadata": {"name": "j", "namespace": "ns"},
        "spec": {"parallelism": 1, "completions": 1, "template": template, **spec},
        "status": status,
    }
    return msgspec.convert(body, Job)
