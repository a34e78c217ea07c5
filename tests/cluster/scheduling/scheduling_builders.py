"""Nodes and pods for scheduling tests: written as manifests are, kept to what a test is about."""

from __future__ import annotations

from typing import Any

import msgspec

from tonnage.cluster.objects import (
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    PodDisruptionBudget,
    StorageClass,
)

GPU = "nvidia.com/gpu"
ZONE = "topology.kubernetes.io/zone"
HOST = "kubernetes.io/hostname"


def a_node(
    name: str,
    *,
    cpu: str = "4",
    memory: str = "8Gi",
    pods: str = "110",
    gpus: int = 0,
    zone: str = "",
    labels: dict[str, str] | None = None,
    taints: tuple[str, ...] = (),
    unschedulable: bool = False,
    images: dict[str, int] | None = None,
    **room: str,
) -> Node:
    """A node; taints as `key=value:Effect`."""
    allocatable = {"cpu": cpu, "memory": memory, "pods": pods, **room}
    if gpus:
        allocatable[GPU] = str(gpus)
    marks = {HOST: name} | ({ZONE: zone} if zone else {}) | (labels or {})
    held = [{"names": [image], "sizeBytes": size} for image, size in (images or {}).items()]
    return msgspec.convert(
        {
            "metadata": {"name": name, "labels": marks},
            "spec": {"unschedulable": unschedulable, "taints": [_taint(text) for text in taints]},
            "status": {"allocatable": allocatable, "images": held},
        },
        Node,
    )


def a_pod(
    name: str = "asked",
    *,
    on: str = "",
    priority: int = 0,
    labels: dict[str, str] | None = None,
    namespace: str = "team",
    started: str | None = None,
    image: str = "app:1",
    requests: dict[str, str] | None = None,
    status: dict[str, Any] | None = None,
    leaving: bool = False,
    **spec: Any,
) -> Pod:
    """A pod with one container; `on` puts it on a node, other words are fields of its spec."""
    metadata: dict[str, Any] = {
        "name": name,
        "namespace": namespace,
        "uid": f"uid-{name}",
        "labels": labels or {},
    }
    if leaving:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    container = {"name": "main", "image": image, "resources": {"requests": requests or {}}}
    container |= {"ports": spec.pop("ports")} if "ports" in spec else {}
    phase = {"phase": "Running", "startTime": started or "2026-01-01T00:00:00Z"} if on else {}
    return msgspec.convert(
        {
            "metadata": metadata,
            "spec": {"containers": [container], "nodeName": on, "priority": priority, **spec},
            "status": phase | (status or {}),
        },
        Pod,
    )


def a_budget(
    name: str, *, allowed: int, labels: dict[str, str], namespace: str = "team"
) -> PodDisruptionBudget:
    return msgspec.convert(
        {
            "metadata": {"name": name, "namespace": namespace},
            "spec": {"selector": {"matchLabels": labels}},
            "status": {"disruptionsAllowed": allowed},
        },
        PodDisruptionBudget,
    )


def a_claim(
    name: str = "data", *, volume: str = "", class_: str = "", phase: str = "", **more: Any
) -> PersistentVolumeClaim:
    """A claim; with a volume it is bound."""
    annotations = {"pv.kubernetes.io/bind-completed": "yes"} if volume else {}
    metadata = {"name": name, "namespace": "team", "annotations": annotations, **more.pop("metadata", {})}
    spec = {
        "volumeName": volume,
        "storageClassName": class_,
        "resources": {"requests": {"storage": "1Gi"}},
        **more,
    }
    return msgspec.convert(
        {"metadata": metadata, "spec": spec, "status": {"phase": phase}}, PersistentVolumeClaim
    )


def a_volume(
    name: str, *, class_: str = "", zone: str = "", labels: dict[str, str] | None = None
) -> PersistentVolume:
    spec: dict[str, Any] = {"capacity": {"storage": "5Gi"}, "storageClassName": class_, "accessModes": []}
    if zone:
        spec["nodeAffinity"] = {
            "required": {
                "nodeSelectorTerms": [
                    {"matchExpressions": [{"key": ZONE, "operator": "In", "values": [zone]}]}
                ]
            }
        }
    meta = {"name": name, "labels": labels or {}}
    return msgspec.convert(
        {"metadata": meta, "spec": spec, "status": {"phase": "Available"}}, PersistentVolume
    )


def a_class(name: str, *, provisioner: str, waits: bool = True, **more: Any) -> StorageClass:
    mode = "WaitForFirstConsumer" if waits else "Immediate"
    body = {"metadata": {"name": name}, "provisioner": provisioner, "volumeBindingMode": mode, **more}
    return msgspec.convert(body, StorageClass)


def mounting(claim: str) -> list[dict[str, Any]]:
    return [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]


def required(kind: str, key: str, labels: dict[str, str]) -> dict[str, Any]:
    """A pod (anti-)affinity that must hold."""
    term = {"topologyKey": key, "labelSelector": {"matchLabels": labels}}
    return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def _taint(text: str) -> dict[str, str]:
    key_value, _, effect = text.rpartition(":")
    key, _, value = key_value.partition("=")
    return {"key": key, "value": value, "effect": effect}
