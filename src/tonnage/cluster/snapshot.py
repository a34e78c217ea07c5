"""Everything known about a cluster at one instant, as one frozen value.

Rules, plans, views and diagnoses take a `Snapshot` and nothing else: what they need to know is in it, or
joins it. It comes from a live cluster, from a saved file or from a Cluster document, and nobody below the
edge can tell which.

Two honesties are part of the value. `gaps` lists what could not be read and why, so that an empty tuple of
nodes never passes for a cluster without nodes. `namespace` says when only one namespace was looked at;
cluster-wide sums are then lower bounds.

Only what was observed is stored. Indexes (pods by node, claims by name) are derived when asked for and kept
by no one: a caller that needs one twice holds on to it.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from typing import TypeVar

import msgspec

from tonnage.cluster.objects.loose import Loose
from tonnage.cluster.objects.meta import Meta, Value
from tonnage.cluster.objects.node import Node
from tonnage.cluster.objects.pod import Pod
from tonnage.cluster.objects.policy import (
    LimitRange,
    Namespace,
    PodDisruptionBudget,
    PriorityClass,
    ResourceQuota,
)
from tonnage.cluster.objects.storage import PersistentVolume, PersistentVolumeClaim, StorageClass
from tonnage.cluster.objects.workload import Event, Job

FORBIDDEN = "forbidden"
NOT_INSTALLED = "not installed"
UNREADABLE = "unreadable"
NOT_DESCRIBED = "not described"

FINISHED = ("Succeeded", "Failed")


class Gap(Value, frozen=True):
    """Something not known: a resource that could not be listed, or objects that made no sense."""

    resource: str
    reason: str
    """One of `forbidden`, `not installed`, `unreadable`, `not described` (a Cluster document is silent)."""
    message: str = ""


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """A cluster at one instant. Sequences are in the order the API server gave them."""

    taken_at: dt.datetime
    source: str
    """Where it was read, for people: `context prod`, `snapshot x.json`, `cluster file lab.yaml`."""
    server_version: str = ""
    namespace: str = ""
    """The one namespace looked at; empty means all of them."""
    gaps: tuple[Gap, ...] = ()

    nodes: tuple[Node, ...] = ()
    pods: tuple[Pod, ...] = ()
    events: tuple[Event, ...] = ()
    namespaces: tuple[Namespace, ...] = ()
    quotas: tuple[ResourceQuota, ...] = ()
    limit_ranges: tuple[LimitRange, ...] = ()
    priority_classes: tuple[PriorityClass, ...] = ()
    disruption_budgets: tuple[PodDisruptionBudget, ...] = ()
    volumes: tuple[PersistentVolume, ...] = ()
    claims: tuple[PersistentVolumeClaim, ...] = ()
    storage_classes: tuple[StorageClass, ...] = ()
    jobs: tuple[Job, ...] = ()

    services: tuple[Loose, ...] = ()
    replica_sets: tuple[Loose, ...] = ()
    stateful_sets: tuple[Loose, ...] = ()
    """The scheduler spreads the pods of one service or set by default, so it reads all three."""
    cluster_queues: tuple[Loose, ...] = ()
    local_queues: tuple[Loose, ...] = ()
    cohorts: tuple[Loose, ...] = ()
    flavors: tuple[Loose, ...] = ()
    topologies: tuple[Loose, ...] = ()
    workloads: tuple[Loose, ...] = ()
    job_sets: tuple[Loose, ...] = ()
    train_jobs: tuple[Loose, ...] = ()
    training_jobs: tuple[Loose, ...] = ()
    """Training Operator v1: PyTorchJob, TFJob, MPIJob."""

    def gap(self, resource: str) -> Gap | None:
        """Why a resource (`nodes`, `clusterqueues`) is not known, if it is not."""
        return next((gap for gap in self.gaps if gap.resource == resource), None)


T = TypeVar("T")


def by_name(objects: Iterable[T]) -> Mapping[tuple[str, str], T]:
    """Objects by (namespace, name); cluster-wide ones have an empty namespace."""
    return {(_meta(item).namespace, _meta(item).name): item for item in objects}


def pods_by_node(snapshot: Snapshot) -> Mapping[str, tuple[Pod, ...]]:
    """Pods that hold a node's resources: bound to it and not finished. Nodes without pods have no entry."""
    bound: dict[str, list[Pod]] = {}
    for pod in snapshot.pods:
        if pod.spec.node_name and pod.status.phase not in FINISHED:
            bound.setdefault(pod.spec.node_name, []).append(pod)
    return {node: tuple(pods) for node, pods in bound.items()}


def events_by_subject(snapshot: Snapshot) -> Mapping[tuple[str, str, str], tuple[Event, ...]]:
    """Events by (kind, namespace, name) of what they are about, oldest first."""
    about: dict[tuple[str, str, str], list[Event]] = {}
    for event in snapshot.events:
        subject = event.involved_object
        about.setdefault((subject.kind, subject.namespace, subject.name), []).append(event)
    return {key: tuple(sorted(found, key=event_time)) for key, found in about.items()}


def event_time(event: Event) -> str:
    """When an event was last seen, as the API wrote it; both event APIs are understood."""
    series = event.series.last_observed_time if event.series else None
    return series or event.last_timestamp or event.event_time or event.metadata.creation_timestamp or ""


def _meta(item: object) -> Meta:
    meta = item.metadata  # type: ignore[attr-defined]
    assert isinstance(meta, Meta)
    return meta
