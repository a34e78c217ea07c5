"""Volumes that are memory: `/dev/shm` and emptyDirs with `medium: Memory`.

What is written there is charged to the container that writes it, so two walls stand around it: the size of
the file system and the container's own memory limit. The lower one is met first. A full file system answers
ENOSPC (or SIGBUS, to a process that mapped it), which is the application's error and not an OOM kill; nobody
is evicted for it.

Read in the kubelet's `pkg/volume/emptydir` (`calculateEmptyDirMemorySize`) and containerd's `defaultShmSize`.
"""

from __future__ import annotations

import errno
import signal

from tonnage.cluster.node.oom import Domain

DEFAULT_SHM_BYTES = 64 << 20
"""`/dev/shm` of a pod that mounts nothing there, shared by its containers."""
NO_SPACE = errno.ENOSPC
BUS_ERROR_EXIT = 128 + signal.SIGBUS
"""How a process ends that touches a page of a mapped file for which there is no room."""


def memory_volume_size(
    *, size_limit: int | None, pod_memory_limit: int | None, node_allocatable_memory: int
) -> int:
    """Bytes a memory-backed emptyDir can hold: the smallest of sizeLimit, the pod's limit and the node's."""
    return min(bound for bound in (size_limit, pod_memory_limit, node_allocatable_memory) if bound)


def stopped_by(size: int, *, container_memory_limit: int | None, also_held: int = 0) -> Domain | None:
    """What stops a container that fills the volume: its own memory limit, or None where the volume is full first.

    `also_held` is the rest of the container's memory that cannot be reclaimed.
    """
    if container_memory_limit is not None and size + also_held > container_memory_limit:
        return Domain.CONTAINER
    return None
