"""Node-pressure eviction: which shortage acts, which pod goes first, and what it will be told.

Every ten seconds the kubelet compares what is available with its thresholds. Of those met it serves one,
memory before anything else, and evicts **one** pod: the first that may be evicted in a ranking that asks,
in this order, whether the pod uses more than it requested, how low its priority is, and by how much it
exceeds. QoS class is not asked. Ties are broken by an unstable sort, so this module returns groups of
equals rather than pretending to know.

Kept on purpose, because the cluster does the same: pods without statistics go first; inode ranking
subtracts the *byte* request from a count of inodes; a pod with pod-level resources counts as requesting no
disk at all.

Read in the kubelet's `pkg/kubelet/eviction` (`helpers.go`, `eviction_manager.go`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from itertools import groupby

import msgspec

from tonnage.cluster.messages.eviction import NodeLow, Offender, format_eviction
from tonnage.cluster.node.sparing import is_critical
from tonnage.cluster.node.thresholds import CONDITION_OF, MEMORY_SIGNALS, Signal, Threshold
from tonnage.cluster.node.usage import ContainerUsage, DiskUsage, PodUsage, StatsSummary
from tonnage.cluster.objects import Pod
from tonnage.cluster.resources import (
    all_containers,
    amounts,
    container_requests,
    pod_level_resources_set,
    pod_requests,
)
from tonnage.units import ZERO, Format, Quantity, quantity_of

UsageOf = Callable[[Pod], PodUsage | None]
HARD_GRACE_SECONDS = 1


class Filesystems(Enum):
    """How a node's disks are laid out, which decides what each disk signal blames on a pod."""

    SINGLE = "one file system for everything"
    DEDICATED_IMAGES = "images and writable layers on a file system of their own"
    SPLIT = "images on their own, writable layers with the node's"


class Measured(Enum):
    """The parts of a pod's disk use."""

    ROOTFS = "writable layers"
    LOGS = "logs"
    VOLUMES = "local volumes"


class Observation(msgspec.Struct, frozen=True):
    """One signal as last measured."""

    available: Quantity
    capacity: Quantity


def observe(summary: StatsSummary) -> dict[Signal, Observation]:
    """Every signal the node's own statistics give."""
    node, found = summary.node, dict[Signal, Observation]()
    memory = node.memory
    if memory and memory.available_bytes is not None and memory.working_set_bytes is not None:
        found[Signal.MEMORY] = _bytes(
            memory.available_bytes, memory.available_bytes + memory.working_set_bytes
        )
    pods = next((c.memory for c in node.system_containers if c.name == "pods"), None)
    if pods and pods.available_bytes is not None and pods.working_set_bytes is not None:
        found[Signal.ALLOCATABLE_MEMORY] = _bytes(
            pods.available_bytes, pods.available_bytes + pods.working_set_bytes
        )
    runtime = node.runtime
    disks = (
        (Signal.NODEFS, Signal.NODEFS_INODES, node.fs),
        (Signal.IMAGEFS, Signal.IMAGEFS_INODES, runtime.image_fs if runtime else None),
        (Signal.CONTAINERFS, Signal.CONTAINERFS_INODES, runtime.container_fs if runtime else None),
    )
    for space, inodes, disk in disks:
        if disk and disk.available_bytes is not None and disk.capacity_bytes is not None:
            found[space] = _bytes(disk.available_bytes, disk.capacity_bytes)
        if disk and disk.inodes_free is not None and disk.inodes is not None:
            found[inodes] = Observation(quantity_of(disk.inodes_free), quantity_of(disk.inodes))
    if node.rlimit and node.rlimit.max_pid is not None and node.rlimit.running is not None:
        free = node.rlimit.max_pid - node.rlimit.running
        found[Signal.PID] = Observation(quantity_of(free), quantity_of(node.rlimit.max_pid))
    return found


def thresholds_met(
    thresholds: Iterable[Threshold], observed: Mapping[Signal, Observation], *, with_reclaim: bool = False
) -> tuple[Threshold, ...]:
    """Thresholds crossed now; with reclaim, those not yet satisfied by their minimum reclaim either."""
    found = []
    for threshold in thresholds:
        seen = observed.get(threshold.signal)
        if seen is None:
            continue
        needed = threshold.value.of(seen.capacity)
        if with_reclaim and threshold.min_reclaim is not None:
            needed = needed + threshold.min_reclaim.of(seen.capacity)
        if needed > seen.available:
            found.append(threshold)
    return tuple(found)


def acting_thresholds(met: Sequence[Threshold]) -> tuple[Threshold, ...]:
    """Those that may be served first: memory, else any of the rest (which one is arbitrary)."""
    memory = tuple(t for t in met if t.signal in MEMORY_SIGNALS)
    return memory or tuple(met)


def pressure_conditions(met: Iterable[Threshold]) -> frozenset[str]:
    """Node conditions turned on, soft grace or not."""
    return frozenset(CONDITION_OF[t.resource] for t in met)


def rank(
    signal: Signal, pods: Iterable[Pod], usage_of: UsageOf, *, filesystems: Filesystems = Filesystems.SINGLE
) -> list[tuple[Pod, ...]]:
    """Groups of active pods, first to go first; within a group the order is arbitrary."""

    def key(pod: Pod) -> tuple[int, int, int]:
        return _key(signal, pod, usage_of(pod), filesystems)

    active = sorted((p for p in pods if p.status.phase not in {"Succeeded", "Failed"}), key=key)
    return [tuple(group) for _, group in groupby(active, key=key)]


def first_to_go(groups: Iterable[Sequence[Pod]]) -> tuple[Pod, ...]:
    """The pods of which one is evicted now: critical and static ones are passed over."""
    for group in groups:
        if evictable := tuple(pod for pod in group if not is_critical(pod)):
            return evictable
    return ()


def eviction_request(pod: Pod, resource: str) -> Quantity:
    """The request eviction compares with; pod-level resources hide what containers ask for."""
    if pod_level_resources_set(pod) and pod.spec.resources is not None:
        request = amounts(pod.spec.resources.requests).get(resource, ZERO)
    else:
        request = pod_requests(pod, from_status=False, overhead=False).get(resource, ZERO)
    extra = amounts(pod.spec.overhead).get(resource, ZERO)
    return request if request.is_zero() else request + extra


def disk_usage(pod: Pod, usage: PodUsage, parts: frozenset[Measured], *, inodes: bool = False) -> int:
    """Bytes (or inodes) that the pod holds in these parts."""
    total = 0
    for container in usage.containers:
        if Measured.ROOTFS in parts:
            total += _held(container.rootfs, inodes)
        if Measured.LOGS in parts:
            total += _held(container.logs, inodes)
    if Measured.VOLUMES in parts:
        measured = {volume.name: volume for volume in usage.volumes}
        total += sum(_held(measured.get(name), inodes) for name in local_volumes(pod))
    return total


def local_volumes(pod: Pod) -> tuple[str, ...]:
    """Volumes counted as local disk: default emptyDirs, config maps, git repositories and host paths."""
    return tuple(
        v.name
        for v in pod.spec.volumes
        if v.host_path is not None
        or v.git_repo is not None
        or v.config_map is not None
        or (v.empty_dir is not None and v.empty_dir.medium == "")
    )


def eviction_message(
    resource: str, pod: Pod, usage: PodUsage | None, *, threshold: Quantity | None, available: Quantity | None
) -> str:
    """The text that ends up in `status.message`, the event and the DisruptionTarget condition."""
    low = NodeLow(
        resource,
        str(threshold) if threshold is not None and available is not None else None,
        str(available) if threshold is not None and available is not None else None,
        tuple(_offenders(resource, pod, usage)) if usage is not None else (),
    )
    return format_eviction(low)


def grace_seconds(threshold: Threshold, pod: Pod, *, max_pod_grace_seconds: int = 0) -> int:
    """How long the pod has to stop: a second when hard, the smaller promise when soft, at least one."""
    if threshold.is_hard:
        return HARD_GRACE_SECONDS
    own = pod.spec.termination_grace_period_seconds
    allowed = max_pod_grace_seconds if own is None else min(max_pod_grace_seconds, own)
    return max(allowed, 1)


_NODE_SIDE = frozenset({Signal.NODEFS, Signal.NODEFS_INODES})
_IMAGE_SIDE = frozenset({Signal.IMAGEFS, Signal.IMAGEFS_INODES})
_EVERYTHING = frozenset(Measured)


def parts_measured(signal: Signal, filesystems: Filesystems) -> frozenset[Measured]:
    """What a disk signal blames on a pod, for this layout of disks."""
    match filesystems:
        case Filesystems.DEDICATED_IMAGES:
            return frozenset({Measured.LOGS, Measured.VOLUMES} if signal in _NODE_SIDE else {Measured.ROOTFS})
        case Filesystems.SPLIT:
            return frozenset() if signal in _IMAGE_SIDE else _EVERYTHING
        case Filesystems.SINGLE:
            return _EVERYTHING


def _key(signal: Signal, pod: Pod, usage: PodUsage | None, filesystems: Filesystems) -> tuple[int, int, int]:
    """(exceeding class, priority, minus the excess); for processes (priority, measured, minus count)."""
    priority = pod.spec.priority or 0
    if signal is Signal.PID:
        return (priority, 0, 0) if usage is None else (priority, 1, -usage.processes())
    if usage is None:
        return (0, priority, 0)
    if signal in MEMORY_SIGNALS:
        used = compared = usage.working_set()
        requested = excess_base = eviction_request(pod, "memory").nano
    else:
        inodes = signal in {Signal.NODEFS_INODES, Signal.IMAGEFS_INODES, Signal.CONTAINERFS_INODES}
        used = compared = disk_usage(pod, usage, parts_measured(signal, filesystems), inodes=inodes)
        excess_base = eviction_request(pod, "ephemeral-storage").nano
        requested = 0 if inodes else excess_base
    exceeds = quantity_of(compared).nano > requested
    return (1 if exceeds else 2, priority, excess_base - quantity_of(used).nano)


def _offenders(resource: str, pod: Pod, usage: PodUsage) -> Iterable[Offender]:
    """The pod itself (pod-level memory request), then each container above its own request."""
    if resource == "memory" and pod_level_resources_set(pod) and pod.spec.resources is not None:
        request = amounts(pod.spec.resources.requests).get("memory")
        if request is not None and usage.memory is not None:
            yield Offender(pod.metadata.name, _text(usage.working_set()), str(request), is_pod=True)
    requests = {c.name: container_requests(c).get(resource, ZERO) for c in all_containers(pod)}
    for container in usage.containers:
        used = _container_used(resource, container)
        if container.name in requests and used is not None and quantity_of(used) > requests[container.name]:
            yield Offender(container.name, _text(used), str(requests[container.name]))


def _container_used(resource: str, container: ContainerUsage) -> int | None:
    if resource == "memory":
        return container.memory.working_set_bytes if container.memory else None
    if resource == "ephemeral-storage" and container.rootfs and container.logs:
        if container.rootfs.used_bytes is None or container.logs.used_bytes is None:
            return None
        return container.rootfs.used_bytes + container.logs.used_bytes
    return None


def _held(disk: DiskUsage | None, inodes: bool) -> int:
    if disk is None:
        return 0
    return (disk.inodes_used if inodes else disk.used_bytes) or 0


def _text(count: int) -> str:
    return str(quantity_of(count, like=Format.BINARY_SI))


def _bytes(available: int, capacity: int) -> Observation:
    return Observation(
        quantity_of(available, like=Format.BINARY_SI), quantity_of(capacity, like=Format.BINARY_SI)
    )
