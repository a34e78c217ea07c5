"""Keeping one copy of what thousands of pods say alike.

A cluster of 150,000 pods holds a few thousand different pod templates. Decoded naively each pod brings its
own containers, tolerations, label keys and reasons, and the store needs gigabytes; keeping one copy of each
equal part brings a pod to about two kilobytes. Parts are compared by their encoded bytes (slim values hold
dicts, which cannot be hashed), strings by themselves.

What no object uses any more is dropped by `sweep`, which looks at reference counts: the pool must not
become the leak that we warn others about. Only freshly decoded values go through here, before anybody else
has seen them, which is what makes it right to put shared parts into frozen values.
"""

from __future__ import annotations

import sys
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

_UNUSED = 3  # references a value has when only the pool, a loop variable and the question itself hold it
_EMPTY: dict[str, str] = {}
_EMPTY_STATE = ContainerState()
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
        self._encode = msgspec.msgpack.Encoder().encode
        self._sweep_at = SWEEP_AT

    def __len__(self) -> int:
        return len(self._parts) + len(self._texts)

    def shrink(self, value: T) -> T:
        """The same value with its repeated parts shared."""
        if isinstance(value, Pod):
            self._meta(value.metadata)
            self._pod_spec(value.spec)
            self._pod_status(value)
        elif isinstance(value, Node):
            self._meta(value.metadata)
            self._node(value)
        elif isinstance(value, Event):
            self._meta(value.metadata)
            self._event(value)
        elif hasattr(value, "metadata"):
            self._meta(value.metadata)
        if len(self) >= self._sweep_at:
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
        for pool in (self._parts, self._texts):
            # A string is its own key, so the pool itself holds it twice.
            unused = _UNUSED + (1 if pool is self._texts else 0)
            for key in [key for key, value in pool.items() if sys.getrefcount(value) <= unused]:
                del pool[key]  # type: ignore[arg-type]
        self._sweep_at = max(SWEEP_AT, 2 * len(self))

    def _meta(self, meta: Meta) -> None:
        text = self.text
        force_setattr(meta, "namespace", text(meta.namespace))
        force_setattr(meta, "generate_name", text(meta.generate_name))
        force_setattr(meta, "labels", self._map(meta.labels, meta.name))
        force_setattr(meta, "annotations", self._map(meta.annotations, meta.name))
        if meta.creation_timestamp:
            force_setattr(meta, "creation_timestamp", text(meta.creation_timestamp))
        if meta.owner_references:
            force_setattr(meta, "owner_references", self.part(meta.owner_references))
        if meta.finalizers:
            force_setattr(meta, "finalizers", self.part(meta.finalizers))

    def _map(self, entries: dict[str, str], name: str) -> dict[str, str]:
        # Whole label maps rarely repeat (an index, a pod name); their keys and values do.
        if not entries:
            return _EMPTY
        text = self.text
        shared = {text(key): name if value == name else text(value) for key, value in entries.items()}
        shared.pop(_LAST_APPLIED, None)
        return shared or _EMPTY

    def _pod_spec(self, spec: PodSpec) -> None:
        for name in _SHARED_SPEC:
            value = getattr(spec, name)
            force_setattr(spec, name, self.part(value) if value else (_EMPTY if value == {} else value))
        for name in _SPEC_TEXTS:
            force_setattr(spec, name, self.text(getattr(spec, name)))
        if spec.volumes:
            # A service-account volume has a name of its own in every pod; pooling it would only fill the
            # pool.
            shared = tuple(
                volume if volume.name.startswith("kube-api-access-") else self.part(volume)
                for volume in spec.volumes
            )
            force_setattr(spec, "volumes", shared)

    def _pod_status(self, pod: Pod) -> None:
        status, text = pod.status, self.text
        for name in ("phase", "reason", "qos_class", "nominated_node_name"):
            force_setattr(status, name, text(getattr(status, name)))
        if status.start_time:
            force_setattr(status, "start_time", text(status.start_time))
        if not status.allocated_resources:
            force_setattr(status, "allocated_resources", _EMPTY)
        self._conditions(status.conditions)
        for container in (*status.container_statuses, *status.init_container_statuses):
            self._container_status(container)

    def _conditions(self, conditions: tuple[Condition, ...]) -> None:
        for condition in conditions:
            for name in ("type", "status", "reason", "message"):
                force_setattr(condition, name, self.text(getattr(condition, name)))
            if condition.last_transition_time:
                force_setattr(condition, "last_transition_time", self.text(condition.last_transition_time))

    def _container_status(self, status: ContainerStatus) -> None:
        force_setattr(status, "name", self.text(status.name))
        force_setattr(status, "allocated_resources", self.part(status.allocated_resources) or _EMPTY)
        if status.resources is not None:
            force_setattr(status, "resources", self.part(status.resources))
        if status.last_state == _EMPTY_STATE:
            force_setattr(status, "last_state", _EMPTY_STATE)
        running = status.state.running
        if running is not None and running.started_at:
            force_setattr(running, "started_at", self.text(running.started_at))

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
