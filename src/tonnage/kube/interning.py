"""Keeping one copy of what thousands of pods say alike.

A cluster of 150,000 pods holds a few thousand different pod templates. Decoded naively each pod brings its
own containers, tolerations, label keys and reasons, and the store needs gigabytes; keeping one copy of each
equal part brings a pod to about two kilobytes. Parts are compared by their encoded bytes (slim values hold
dicts, which cannot be hashed), strings by themselves.

Comparing is cheaper than looking up, so two neighbours are tried first: the same object's last version
(most of a change is not a change) and the object decoded before it (lists are sorted, so that is often a
pod of the same job).

What no object uses any more is dropped by `sweep`, which looks at reference counts: the pool must not
become the leak that we warn others about. Only freshly decoded values go through here, before anybody else
has seen them, which is what makes it right to put shared parts into frozen values.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any, TypeVar

import msgspec
from msgspec.structs import force_setattr

from tonnage.cluster.objects.meta import Condition, Meta
from tonnage.cluster.objects.node import Node
from tonnage.cluster.objects.pod import ContainerState, ContainerStatus, Pod, PodSpec
from tonnage.cluster.objects.workload import Event

T = TypeVar("T")

SWEEP_AT = 20_000
"""Entries before the first sweep; later ones happen when the pool has doubled since the last."""

_EMPTY: dict[str, str] = {}
_EMPTY_STATE = ContainerState()
_NO_META = Meta()
_OWN_VOLUME = "kube-api-access-"
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_SHARED_SPEC = (
    "containers",
    "init_containers",
    "node_selector",
    "affinity",
    "tolerations",
    "topology_spread_constraints",
    "scheduling_gates",
    "resources",
    "overhead",
)
_SPEC_TEXTS = ("node_name", "scheduler_name", "priority_class_name", "service_account_name", "restart_policy")


class Interner:
    """One pool of shared parts, for the stores of one process."""

    def __init__(self) -> None:
        self._parts: dict[bytes, Any] = {}
        self._texts: dict[str, str] = {}
        self._recent: dict[str, Any] = {}
        self._encode = msgspec.msgpack.Encoder().encode
        self._sweep_at = SWEEP_AT

    def __len__(self) -> int:
        return len(self._parts) + len(self._texts)

    def shrink(self, value: T, like: T | None = None) -> T:
        """The same value with its repeated parts shared; `like` is its last known version, if any."""
        if isinstance(value, Pod):
            before = like if isinstance(like, Pod) else None
            self._meta(value.metadata, before.metadata if before else None)
            if before is not None and value.spec == before.spec:
                force_setattr(value, "spec", before.spec)
            else:
                self._pod_spec(value.spec)
            self._pod_status(value, before)
        elif isinstance(value, Node):
            self._meta(value.metadata)
            self._node(value)
        elif isinstance(value, Event):
            self._meta(value.metadata)
            self._event(value)
        elif hasattr(value, "metadata"):
            self._meta(value.metadata)
        if len(self._parts) + len(self._texts) >= self._sweep_at:
            self.sweep()
        return value

    def part(self, value: T) -> T:
        """The pool's copy of an equal part."""
        if not value:
            return value
        key = self._encode(value)
        return self._parts.setdefault(key, value)  # type: ignore[no-any-return]

    def text(self, value: str) -> str:
        """The pool's copy of an equal string."""
        return self._texts.setdefault(value, value) if value else ""

    def sweep(self) -> None:
        """Forget parts that nothing uses any more."""
        self._recent.clear()
        for pool, floor in ((self._parts, _PART_FLOOR), (self._texts, _TEXT_FLOOR)):
            for key in [key for key, count in _counts(pool) if count <= floor]:
                del pool[key]
        self._sweep_at = max(SWEEP_AT, 2 * len(self))

    def _meta(self, meta: Meta, before: Meta | None = None) -> None:
        text = self._texts.setdefault
        if before is not None:
            # Nothing of an object's identity changes while it lives.
            force_setattr(meta, "name", before.name)
            force_setattr(meta, "uid", before.uid)
        force_setattr(meta, "namespace", text(meta.namespace, meta.namespace))
        if meta.generate_name:
            force_setattr(meta, "generate_name", text(meta.generate_name, meta.generate_name))
        if meta.creation_timestamp:
            force_setattr(meta, "creation_timestamp", text(meta.creation_timestamp, meta.creation_timestamp))
        known = before or _NO_META
        labels, notes = meta.labels, meta.annotations
        force_setattr(
            meta, "labels", known.labels if labels == known.labels else self._map(labels, meta.name)
        )
        if notes:
            kept = known.annotations if notes == known.annotations else self._map(notes, meta.name)
            force_setattr(meta, "annotations", kept)
        else:
            force_setattr(meta, "annotations", _EMPTY)
        if meta.owner_references:
            force_setattr(meta, "owner_references", self._near("owners", meta.owner_references))
        if meta.finalizers:
            force_setattr(meta, "finalizers", self._near("finalizers", meta.finalizers))

    def _map(self, entries: dict[str, str], name: str) -> dict[str, str]:
        # Whole label maps rarely repeat (an index, a pod name); their keys and values do.
        if not entries:
            return _EMPTY
        text = self._texts.setdefault
        shared = {
            text(key, key): name if value == name else text(value, value) for key, value in entries.items()
        }
        shared.pop(_LAST_APPLIED, None)
        return shared or _EMPTY

    def _near(self, place: str, value: T) -> T:
        """The pool's copy of a part, trying first what was in this place last."""
        last = self._recent.get(place)
        if last == value:
            return last
        shared = self.part(value)
        self._recent[place] = shared
        return shared

    def _pod_spec(self, spec: PodSpec) -> None:
        for name in _SHARED_SPEC:
            value = getattr(spec, name)
            if value:
                force_setattr(spec, name, self._near(name, value))
            elif value == {}:
                force_setattr(spec, name, _EMPTY)
        text = self._texts.setdefault
        for name in _SPEC_TEXTS:
            value = getattr(spec, name)
            if value:
                force_setattr(spec, name, text(value, value))
        if spec.volumes:
            # A service-account volume has a name of its own in every pod; pooling it would only fill the
            # pool.
            is_own = any(volume.name.startswith(_OWN_VOLUME) for volume in spec.volumes)
            shared = (
                tuple(v if v.name.startswith(_OWN_VOLUME) else self.part(v) for v in spec.volumes)
                if is_own
                else self._near("volumes", spec.volumes)
            )
            force_setattr(spec, "volumes", shared)

    def _pod_status(self, pod: Pod, before: Pod | None) -> None:
        status, text = pod.status, self._texts.setdefault
        for name in ("phase", "reason", "qos_class", "nominated_node_name", "start_time"):
            value = getattr(status, name)
            if value:
                force_setattr(status, name, text(value, value))
        if not status.allocated_resources:
            force_setattr(status, "allocated_resources", _EMPTY)
        old = before.status if before is not None else None
        for name in ("conditions", "container_statuses", "init_container_statuses"):
            values = getattr(status, name)
            if old is not None and values == getattr(old, name):
                force_setattr(status, name, getattr(old, name))
            elif name == "conditions":
                self._conditions(values)
            else:
                for container in values:
                    self._container_status(container)

    def _conditions(self, conditions: tuple[Condition, ...]) -> None:
        text = self._texts.setdefault
        for condition in conditions:
            force_setattr(condition, "type", text(condition.type, condition.type))
            force_setattr(condition, "status", text(condition.status, condition.status))
            when = condition.last_transition_time
            if when:
                force_setattr(condition, "last_transition_time", text(when, when))
            if condition.reason:
                force_setattr(condition, "reason", text(condition.reason, condition.reason))
            if condition.message:
                force_setattr(condition, "message", text(condition.message, condition.message))

    def _container_status(self, status: ContainerStatus) -> None:
        text = self._texts.setdefault
        force_setattr(status, "name", text(status.name, status.name))
        if status.allocated_resources:
            shared = self._near(f"allocated {status.name}", status.allocated_resources)
            force_setattr(status, "allocated_resources", shared)
        else:
            force_setattr(status, "allocated_resources", _EMPTY)
        if status.resources is not None:
            force_setattr(status, "resources", self._near(f"resources {status.name}", status.resources))
        if status.last_state == _EMPTY_STATE:
            force_setattr(status, "last_state", _EMPTY_STATE)
        running = status.state.running
        if running is not None and running.started_at:
            force_setattr(running, "started_at", text(running.started_at, running.started_at))

    def _node(self, node: Node) -> None:
        status = node.status
        for name in ("capacity", "allocatable", "node_info"):
            force_setattr(status, name, self.part(getattr(status, name)))
        force_setattr(status, "images", tuple(self.part(image) for image in status.images))
        force_setattr(node.spec, "taints", self.part(node.spec.taints))
        self._conditions(status.conditions)

    def _event(self, event: Event) -> None:
        for name in ("type", "reason", "message", "reporting_component"):
            force_setattr(event, name, self.text(getattr(event, name)))
        force_setattr(event, "source", self.part(event.source))


def _counts(pool: dict[Any, Any]) -> Iterator[tuple[Any, int]]:
    """How often each value of a pool is referred to, the pool and this look included."""
    for key, value in pool.items():
        yield key, sys.getrefcount(value)


def _floor(pool: dict[Any, Any]) -> int:
    """The count of a value that only a pool holds; measured, because it differs between Python versions."""
    return max(count for _, count in _counts(pool))


def _unused_text() -> dict[str, str]:
    text = "only the pool ".strip() + " holds this"
    return {text: text}


_PART_FLOOR = _floor({b"part": (object(),)})
_TEXT_FLOOR = _floor(_unused_text())
