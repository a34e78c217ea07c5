"""Who the kernel kills when memory runs out, and what Kubernetes then says about it.

Four walls can be hit: the container's limit, the pod's, the one around all pods (`kubepods`), and the
node's own memory. Inside the wall that was hit the kernel kills the process with the highest badness:
roughly its share of that memory in thousandths plus `oom_score_adj`, which the kubelet sets from QoS and
request. Priority plays no part, except for node-critical pods.

What is reported afterwards depends on who died. If PID 1 died (or the whole container, as
`memory.oom.group` demands on cgroup v2) the container ends as OOMKilled/137. If a child died, PID 1 lives
on and nothing is reported at all; the runtime remembers, and whenever PID 1 ends, the reason is OOMKilled
with PID 1's *own* exit code, 0 included. And the runtime may miss the kernel's note: then the same kill
reads Error/137.

Read in the kubelet's `qos/policy.go`, `cm/helpers_linux.go` and containerd's
`internal/cri/server/events.go`.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

import msgspec

from tonnage.cluster.node.sparing import is_node_critical
from tonnage.cluster.objects import Container, Pod
from tonnage.cluster.objects.pod import TerminatedState
from tonnage.cluster.qos import qos_class
from tonnage.cluster.resources import (
    aggregate_container_requests,
    amounts,
    container_limits,
    container_requests,
    is_sidecar,
    pod_level_requests_set,
    pod_level_resources_set,
    pod_limits,
)
from tonnage.units import ZERO

GUARANTEED_ADJUST = -997
BEST_EFFORT_ADJUST = 1000
KILLED_EXIT = 137
"""128 + SIGKILL: what a shell, a runtime and the kubelet all report for a killed process."""


class Domain(StrEnum):
    """The cgroup whose wall was hit."""

    CONTAINER = "container"
    POD = "pod"
    KUBEPODS = "kubepods"
    NODE = "node"


class Victim(StrEnum):
    """Which process of the container the kernel chose."""

    PID_1 = "PID 1"
    CHILD = "child"


class Wall(msgspec.Struct, frozen=True):
    """A memory bound that applies to a container, in bytes."""

    domain: Domain
    limit_bytes: int


def oom_score_adjust(pod: Pod, container: Container, node_capacity_memory: int) -> int:
    """The container's `oom_score_adj`; `node_capacity_memory` is capacity, not allocatable, in bytes."""
    if is_node_critical(pod):
        return GUARANTEED_ADJUST
    match qos_class(pod):
        case "Guaranteed":
            return GUARANTEED_ADJUST
        case "BestEffort":
            return BEST_EFFORT_ADJUST
    share = _unclaimed_per_container(pod)
    adjust = 1000 - 1000 * (_memory_request(container) + share) // node_capacity_memory
    if is_sidecar(container) and any(c.name == container.name for c in pod.spec.init_containers):
        # A sidecar never dies before the container it serves.
        least = min((_memory_request(c) for c in pod.spec.containers), default=0)
        adjust = min(adjust, 1000 - 1000 * (least + share) // node_capacity_memory)
    return min(max(adjust, 1000 + GUARANTEED_ADJUST), BEST_EFFORT_ADJUST - 1)


def container_memory_limit(pod: Pod, container: Container) -> int | None:
    """The container cgroup's bound: its own limit, else the pod-level one."""
    own = container_limits(container).get("memory", ZERO).value()
    if own:
        return own
    if pod_level_resources_set(pod) and pod.spec.resources is not None:
        return amounts(pod.spec.resources.limits).get("memory", ZERO).value() or None
    return None


def pod_memory_limit(pod: Pod) -> int | None:
    """The pod cgroup's bound: only when every container has a limit, or the pod itself does."""
    if qos_class(pod) == "BestEffort":
        return None
    declared = all(
        container_limits(c).get("memory", ZERO).is_positive()
        for c in (*pod.spec.containers, *pod.spec.init_containers)
    )
    if pod_level_resources_set(pod) and pod.spec.resources is not None:
        declared = declared or amounts(pod.spec.resources.limits).get("memory", ZERO).is_positive()
    if not declared:
        return None
    return pod_limits(pod, from_status=False).get("memory", ZERO).value() or None


def walls(
    pod: Pod, container: Container, *, kubepods_limit: int, node_capacity_memory: int
) -> tuple[Wall, ...]:
    """Every bound around a container, innermost first."""
    own, whole = container_memory_limit(pod, container), pod_memory_limit(pod)
    found = [Wall(Domain.CONTAINER, own)] if own is not None else []
    if whole is not None:
        found.append(Wall(Domain.POD, whole))
    return (*found, Wall(Domain.KUBEPODS, kubepods_limit), Wall(Domain.NODE, node_capacity_memory))


def wall_hit(around: tuple[Wall, ...], usage: Mapping[Domain, int]) -> Wall | None:
    """The innermost wall that this usage (bytes per domain, unreclaimable) would break."""
    return next((wall for wall in around if usage.get(wall.domain, 0) > wall.limit_bytes), None)


def kills_whole_container(
    *, cgroup_version: int, kubelet_minor: int = 36, single_process_oom_kill: bool | None = None
) -> bool:
    """Whether all processes of the container die with the victim (`memory.oom.group`)."""
    if cgroup_version == 1 or kubelet_minor < 28:
        return False
    return not single_process_oom_kill


def after_oom_kill(
    victim: Victim, *, whole_container: bool, own_exit_code: int | None = None, noticed: bool = True
) -> TerminatedState | None:
    """How the container ends; None while PID 1 lives on (nothing is reported until it exits).

    `noticed` is whether the runtime saw the kernel's note before it recorded the exit.
    """
    if victim is Victim.PID_1 or whole_container:
        return TerminatedState(exit_code=KILLED_EXIT, reason="OOMKilled" if noticed else "Error")
    if own_exit_code is None:
        return None
    return TerminatedState(
        exit_code=own_exit_code, reason="OOMKilled" if noticed else plain_reason(own_exit_code)
    )


def possible_endings(
    victim: Victim, *, whole_container: bool, own_exit_code: int
) -> tuple[TerminatedState, ...]:
    """Every status the same kill may show: the second only where the runtime loses the race to notice."""
    found = [
        after_oom_kill(victim, whole_container=whole_container, own_exit_code=own_exit_code, noticed=noticed)
        for noticed in (True, False)
    ]
    return tuple(state for state in found if state is not None)


def plain_reason(exit_code: int) -> str:
    """The runtime's word for an ordinary exit."""
    return "Completed" if exit_code == 0 else "Error"


def _memory_request(container: Container) -> int:
    return container_requests(container).get("memory", ZERO).value()


def _unclaimed_per_container(pod: Pod) -> int:
    """The part of a pod-level request that no container claims, shared out equally."""
    if not pod_level_requests_set(pod) or pod.spec.resources is None:
        return 0
    whole = amounts(pod.spec.resources.requests).get("memory", ZERO)
    if whole.is_zero():
        return 0
    claimed = aggregate_container_requests(pod).get("memory", ZERO)
    return (whole.value() - claimed.value()) // (len(pod.spec.containers) + len(pod.spec.init_containers))
