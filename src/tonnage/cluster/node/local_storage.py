"""Local-storage limits: the three checks that evict a pod for its own disk use, pressure or not.

In every round the kubelet looks at each pod: first each emptyDir against its sizeLimit, then everything the
pod holds on local disk against the *sum* of its containers' limits (a limit on one container caps the whole
pod), then each container's logs and writable layer against its own limit. The first check that fails
evicts. Nobody disrupted the pod: it carries no DisruptionTarget, so a Job's Ignore rule does not cover it,
and it gets one second to stop.

Usage comes from a scan of the disk and lags; a file system that fills first answers ENOSPC and nothing is
evicted. Read in `eviction_manager.go` (`localStorageEviction`).
"""

from __future__ import annotations

from tonnage.cluster.messages.eviction import ContainerOverLimit, EmptyDirOverLimit, PodOverLimit
from tonnage.cluster.node.sparing import is_critical
from tonnage.cluster.node.usage import DiskUsage, PodUsage
from tonnage.cluster.objects import Pod
from tonnage.cluster.resources import container_limits, pod_limits
from tonnage.units import ZERO, parse_quantity, quantity_of

Breach = EmptyDirOverLimit | PodOverLimit | ContainerOverLimit
STORAGE = "ephemeral-storage"


def limit_breach(pod: Pod, usage: PodUsage | None, *, dedicated_image_fs: bool = False) -> Breach | None:
    """The limit for which the pod is evicted now; None while it stays within all three."""
    if usage is None or is_critical(pod):
        return None
    return (
        _empty_dir_breach(pod, usage)
        or _pod_breach(pod, usage)
        or _container_breach(pod, usage, dedicated_image_fs)
    )


def _empty_dir_breach(pod: Pod, usage: PodUsage) -> EmptyDirOverLimit | None:
    used = {volume.name: volume.used_bytes for volume in usage.volumes}
    for volume in pod.spec.volumes:
        if volume.empty_dir is None or volume.empty_dir.size_limit is None:
            continue
        limit = parse_quantity(volume.empty_dir.size_limit)
        held = used.get(volume.name)
        if held is not None and limit.is_positive() and quantity_of(held) > limit:
            return EmptyDirOverLimit(volume.name, str(limit))
    return None


def _pod_breach(pod: Pod, usage: PodUsage) -> PodOverLimit | None:
    limit = pod_limits(pod, from_status=False).get(STORAGE)
    if limit is None:
        return None
    held = _bytes(usage.ephemeral_storage)
    return PodOverLimit(str(limit)) if quantity_of(held) > limit else None


def _container_breach(pod: Pod, usage: PodUsage, dedicated_image_fs: bool) -> ContainerOverLimit | None:
    limits = {c.name: container_limits(c).get(STORAGE, ZERO) for c in pod.spec.containers}
    for container in usage.containers:
        limit = limits.get(container.name, ZERO)
        held = _bytes(container.logs) + (0 if dedicated_image_fs else _bytes(container.rootfs))
        if limit.value() != 0 and quantity_of(held) > limit:
            return ContainerOverLimit(container.name, str(limit))
    return None


def _bytes(disk: DiskUsage | None) -> int:
    return (disk.used_bytes if disk else None) or 0
