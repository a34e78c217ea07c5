"""What lies in a file beside the training: claims, classes, quotas and the like, applied with it in one go.

A file that makes a claim and mounts it is planned as if it had been applied: the claim's access mode, size and class
count, and it is not missing. What the cluster has already under the same name holds instead, as it would. Kinds that
decide nothing here (Service, ConfigMap, Secret, NetworkPolicy, ...) are read past, and their contents never looked at.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol, TypeVar

import msgspec
from msgspec.structs import replace

from tonnage.cluster.objects import (
    LimitRange,
    PersistentVolume,
    PersistentVolumeClaim,
    PriorityClass,
    ResourceQuota,
    StorageClass,
)
from tonnage.cluster.objects.meta import Meta
from tonnage.cluster.snapshot import Snapshot
from tonnage.planning.workload.decoding import plain_object
from tonnage.planning.workload.quantities import wrong_quantity
from tonnage.spec.mistakes import Mistake
from tonnage.spec.reading import RawDocument

CODE = "DOC-071"
T = TypeVar("T", bound="_Named")

_TYPES: dict[str, Any] = {
    "PersistentVolumeClaim": PersistentVolumeClaim,
    "PersistentVolume": PersistentVolume,
    "StorageClass": StorageClass,
    "PriorityClass": PriorityClass,
    "LimitRange": LimitRange,
    "ResourceQuota": ResourceQuota,
}


class _Named(Protocol):
    @property
    def metadata(self) -> Meta: ...


class Beside(msgspec.Struct, frozen=True):
    """Objects of a file, and those that Kubernetes could not read."""

    claims: tuple[PersistentVolumeClaim, ...] = ()
    volumes: tuple[PersistentVolume, ...] = ()
    storage_classes: tuple[StorageClass, ...] = ()
    priority_classes: tuple[PriorityClass, ...] = ()
    limit_ranges: tuple[LimitRange, ...] = ()
    quotas: tuple[ResourceQuota, ...] = ()
    mistakes: tuple[Mistake, ...] = ()

    def __bool__(self) -> bool:
        return any(
            (
                self.claims,
                self.volumes,
                self.storage_classes,
                self.priority_classes,
                self.limit_ranges,
                self.quotas,
            )
        )

    def in_namespace(self, namespace: str) -> Beside:
        """With the namespace for objects that name none, as `kubectl -n` does."""
        return Beside(
            claims=tuple(_placed(one, namespace) for one in self.claims),
            volumes=self.volumes,
            storage_classes=self.storage_classes,
            priority_classes=self.priority_classes,
            limit_ranges=tuple(_placed(one, namespace) for one in self.limit_ranges),
            quotas=tuple(_counted(_placed(one, namespace)) for one in self.quotas),
        )


def beside_in(documents: Iterable[RawDocument]) -> Beside:
    """The objects of these documents that decide anything."""
    found: dict[str, list[Any]] = {kind: [] for kind in _TYPES}
    mistakes = []
    for raw in documents:
        kind = str(raw.value.get("kind")) if isinstance(raw.value, dict) else ""
        if kind not in _TYPES:
            continue
        plain = plain_object(raw.value)
        try:
            found[kind].append(msgspec.convert(plain, _TYPES[kind], strict=False))
        except msgspec.ValidationError as error:
            mistakes.append(_mistake(raw, kind, str(error)))
            continue
        if wrong := wrong_quantity(plain):
            mistakes.append(_mistake(raw, kind, wrong))
    return Beside(
        claims=tuple(found["PersistentVolumeClaim"]),
        volumes=tuple(found["PersistentVolume"]),
        storage_classes=tuple(found["StorageClass"]),
        priority_classes=tuple(found["PriorityClass"]),
        limit_ranges=tuple(found["LimitRange"]),
        quotas=tuple(found["ResourceQuota"]),
        mistakes=tuple(mistakes),
    )


def applied(snapshot: Snapshot, beside: Beside) -> Snapshot:
    """The cluster with the file's objects in it, but for claims: nobody has made their volumes yet."""
    classes = snapshot.priority_classes  # where none could be seen, one more would look like the only one
    return replace(
        snapshot,
        volumes=_joined(snapshot.volumes, beside.volumes),
        storage_classes=_joined(snapshot.storage_classes, beside.storage_classes),
        priority_classes=_joined(classes, beside.priority_classes) if classes else (),
        limit_ranges=_joined(snapshot.limit_ranges, beside.limit_ranges),
        quotas=_joined(snapshot.quotas, beside.quotas),
    )


def _joined(there: tuple[T, ...], more: tuple[T, ...]) -> tuple[T, ...]:
    names = {(one.metadata.namespace, one.metadata.name) for one in there}
    return (*there, *(one for one in more if (one.metadata.namespace, one.metadata.name) not in names))


def _placed(one: T, namespace: str) -> T:
    if one.metadata.namespace:
        return one
    struct: Any = one
    placed: T = replace(struct, metadata=replace(one.metadata, namespace=namespace))
    return placed


def _counted(quota: ResourceQuota) -> ResourceQuota:
    """A quota that was just made: nothing is used of it."""
    status = replace(quota.status, hard=quota.spec.hard, used=dict.fromkeys(quota.spec.hard, "0"))
    return replace(quota, status=status)


def _mistake(raw: RawDocument, kind: str, why: str) -> Mistake:
    return Mistake(
        code=CODE,
        what=f"the {kind} cannot be read: {why}",
        file=raw.file,
        line=raw.line,
        expected="Kubernetes' own shape of it",
    )
