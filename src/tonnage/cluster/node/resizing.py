"""In-place resize: what the API refuses, what the node puts off, and what it does at once.

Three judges in a row. The API server refuses what may never be (another QoS class, anything but cpu and
memory, a value taken away), then what the whole node could not hold. The node's kubelet admits the new size
beside its other pods, or defers it: a deferred resize waits, it preempts nobody. And a memory limit below
what is used right now (all of it, page cache included) is accepted but not carried out: the resize stays in
progress with an error and is tried again.

Read in `ValidatePodResize`, `plugin/pkg/admission/podresize`, `pkg/kubelet/allocation` and
`kuberuntime_manager.go`.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from tonnage.cluster.admission.faults import forbidden, invalid
from tonnage.cluster.messages.rejection import format_rejection, rejection_reason
from tonnage.cluster.messages.resize import (
    DEFERRED,
    ERROR,
    IN_PROGRESS,
    INFEASIBLE,
    PENDING,
    QOS_MAY_NOT_CHANGE,
    BelowUsage,
    format_below_usage,
    format_resize_event,
    format_static_policy,
)
from tonnage.cluster.node.oom import container_memory_limit, pod_memory_limit
from tonnage.cluster.node.rejecting import kubelet_rejection
from tonnage.cluster.node.sparing import is_static
from tonnage.cluster.node.usage import PodUsage
from tonnage.cluster.objects import Container, Node, Pod
from tonnage.cluster.objects.meta import Condition
from tonnage.cluster.objects.pod import ResourceList, Resources
from tonnage.cluster.qos import compute_qos_class, qos_class
from tonnage.cluster.resources import amounts, is_sidecar, pod_level_resources_set, pod_requests
from tonnage.units import ZERO

_RESIZABLE = frozenset({"cpu", "memory"})
_ONLY_CPU_MEMORY = "only cpu and memory resources are mutable"


class NodeManagers(msgspec.Struct, frozen=True):
    """Static policies on the node that pin a Guaranteed pod's size."""

    static_cpu: bool = False
    static_memory: bool = False


class Pending(msgspec.Struct, frozen=True):
    """A size the node will not take now (or ever, when infeasible), in the kubelet's words."""

    cause: str
    """Infeasible, or the reason the kubelet would refuse a new pod of that size for."""
    message: str

    @property
    def condition(self) -> Condition:
        """What stands in the pod's status: any cause but Infeasible reads Deferred."""
        reason = INFEASIBLE if self.cause == INFEASIBLE else DEFERRED
        return Condition(type=PENDING, status="True", reason=reason, message=self.message)

    def event(self, new: Pod, generation: int) -> str:
        """The event's text, which names the cause itself."""
        return format_resize_event(self.cause, new, generation, self.message)


def resize_faults(old: Pod, new: Pod) -> list[str]:
    """What the API server's validation says against the wish; empty when it may be asked of the node."""
    if is_static(old):
        return [forbidden("", "static pods cannot be resized")]
    faults = []
    if qos_class(old) != compute_qos_class(new):
        faults.append(invalid("spec", qos_class(new), QOS_MAY_NOT_CHANGE))
    if pod_level_resources_set(old) or pod_level_resources_set(new):
        faults += _pod_level_faults(old, new)
    order = _order_faults(old, new)
    if order:
        return faults + order
    for field, before, after in _pairs(old, new):
        faults += _removal_faults(f"spec.{field}.resources", before.resources, after.resources)
    for field, before, after in _pairs(old, new):
        if _fixed(before.resources) != _fixed(after.resources):
            faults.append(_immutable(field))
        elif (
            field.startswith("init") and before.resources != after.resources and _restarts_when_resized(after)
        ):
            faults.append(
                forbidden(
                    f"spec.{field}",
                    "non-sidecar init containers with a resize policy of RestartContainer cannot be resized",
                )
            )
    return faults


def node_refusal(new: Pod, node: Node) -> str | None:
    """What admission says when the whole node could not hold the new size (HTTP 403)."""
    if (system := node.metadata.labels.get("kubernetes.io/os", "linux")) != "linux":
        return f'pod resize is only supported on linux nodes, node "{node.metadata.name}" is "{system}"'
    wanted, have = pod_requests(new, from_status=False), amounts(node.status.allocatable)
    parts = []
    cpu, memory = wanted.get("cpu", ZERO), wanted.get("memory", ZERO)
    if cpu > (total := have.get("cpu", ZERO)):
        parts.append(f"cpu, requested: {cpu.milli()}, allocatable: {total.milli()}")
    if memory > (total := have.get("memory", ZERO)):
        parts.append(f"memory, requested: {memory.value()}, allocatable: {total.value()}")
    return f"node didn't have enough allocatable resources: {'; '.join(parts)}" if parts else None


def kubelet_answer(
    old: Pod, new: Pod, node: Node, others: Iterable[Pod], *, managers: NodeManagers | None = None
) -> Pending | None:
    """How the node puts the new size off; None when it is allocated at once."""
    pinned = managers or NodeManagers()
    if qos_class(new) == "Guaranteed":
        for manager, static, name in (
            ("CPU", pinned.static_cpu, "cpu"),
            ("Memory", pinned.static_memory, "memory"),
        ):
            if static and _request_changes(old, new, name):
                return Pending(INFEASIBLE, format_static_policy(manager))
    refused = kubelet_rejection(new, node, others)
    return None if refused is None else Pending(rejection_reason(refused), format_rejection(refused))


def decrease_error(old: Pod, new: Pod, usage: PodUsage) -> Condition | None:
    """PodResizeInProgress with an error when a shrinking memory limit is not above the usage of now.

    The number shown for a container is the *pod's* usage: so the kubelet words it.
    """
    whole = (usage.memory.usage_bytes if usage.memory else None) or 0
    problems = []
    if (
        _shrinks(pod_memory_limit(old), after := pod_memory_limit(new))
        and after is not None
        and whole >= after
    ):
        problems.append(BelowUsage(after, whole))
    shrinking = {
        now.name: limit
        for _, before, now in _pairs(old, new)
        if _shrinks(container_memory_limit(old, before), limit := container_memory_limit(new, now))
    }
    for container in usage.containers:
        limit = shrinking.get(container.name)
        used = (container.memory.usage_bytes if container.memory else None) or 0
        if limit is not None and used >= limit:
            problems.append(BelowUsage(limit, whole, container.name))
    if not problems:
        return None
    return Condition(
        type=IN_PROGRESS, status="True", reason=ERROR, message=format_below_usage(tuple(problems))
    )


def restarts_for(old: Pod, new: Pod) -> tuple[str, ...]:
    """Containers that this resize restarts: those whose policy for a changed resource says so."""
    found = []
    for _, before, after in _pairs(old, new):
        changed = {n for n in _RESIZABLE if _values(before.resources, n) != _values(after.resources, n)}
        policies = {p.resource_name for p in after.resize_policy if p.restart_policy == "RestartContainer"}
        if changed & policies:
            found.append(after.name)
    return tuple(found)


def _pairs(old: Pod, new: Pod) -> list[tuple[str, Container, Container]]:
    main = zip(old.spec.containers, new.spec.containers, strict=False)
    init = zip(old.spec.init_containers, new.spec.init_containers, strict=False)
    return [(f"initContainers[{i}]", a, b) for i, (a, b) in enumerate(init)] + [
        (f"containers[{i}]", a, b) for i, (a, b) in enumerate(main)
    ]


def _order_faults(old: Pod, new: Pod) -> list[str]:
    faults = []
    for field, before, after in (
        ("containers", old.spec.containers, new.spec.containers),
        ("initContainers", old.spec.init_containers, new.spec.init_containers),
    ):
        if len(before) != len(after):
            faults.append(forbidden(f"spec.{field}", f"{field} may not be added or removed on resize"))
            continue
        faults += [
            forbidden(f"spec.{field}[{i}].name", f"{field} may not be renamed or reordered on resize")
            for i, (a, b) in enumerate(zip(before, after, strict=True))
            if a.name != b.name
        ]
    return faults


def _removal_faults(path: str, before: Resources, after: Resources, what: str = "resource") -> list[str]:
    faults = []
    if set(before.requests) - set(after.requests):
        faults.append(forbidden(f"{path}.requests", f"{what} requests cannot be removed"))
    if set(before.limits) - set(after.limits):
        faults.append(forbidden(f"{path}.limits", f"{what} limits cannot be removed"))
    return faults


def _pod_level_faults(old: Pod, new: Pod) -> list[str]:
    before, after = old.spec.resources, new.spec.resources
    if before is not None and after is None:
        return [forbidden("spec.resources", "pod-level resources cannot be removed")]
    assert after is not None
    faults = (
        _removal_faults("spec.resources", before, after, "pod-level resource") if before is not None else []
    )
    if _fixed(before or Resources()) != _fixed(after):
        faults.append(forbidden("spec", f"{_ONLY_CPU_MEMORY} at pod-level"))
    return faults


def _immutable(field: str) -> str:
    if field.startswith("init"):
        return forbidden(
            f"spec.{field}", "only cpu and memory resources for init or sidecar containers are mutable"
        )
    return forbidden("spec", _ONLY_CPU_MEMORY)


def _fixed(resources: Resources) -> tuple[dict[str, int], dict[str, int]]:
    """What a resize may not touch."""

    def rest(values: ResourceList) -> dict[str, int]:
        return {n: q.nano for n, q in amounts(values).items() if n not in _RESIZABLE}

    return rest(resources.requests), rest(resources.limits)


def _values(resources: Resources, name: str) -> tuple[object, object]:
    return amounts(resources.requests).get(name), amounts(resources.limits).get(name)


def _restarts_when_resized(container: Container) -> bool:
    return not is_sidecar(container) and any(
        p.restart_policy == "RestartContainer" for p in container.resize_policy
    )


def _request_changes(old: Pod, new: Pod, name: str) -> bool:
    return any(
        amounts(a.resources.requests).get(name, ZERO) != amounts(b.resources.requests).get(name, ZERO)
        for _, a, b in _pairs(old, new)
    )


def _shrinks(before: int | None, after: int | None) -> bool:
    return after is not None and (before is None or after < before)
