"""What a node measures of its pods: the kubelet's stats summary, as far as eviction reads it.

Decode the answer of `/stats/summary` with `StatsSummary` and hand it to `evicting` and `local_storage`.
Absent numbers stay `None`: the kubelet treats "not measured" and "zero" differently in one place only,
whether a pod has statistics at all, and that is told by the pod being in the list. Bytes everywhere; memory
"used" for eviction is the *working set* (usage less inactive page cache), while resizing down looks at the
whole usage.
"""

from __future__ import annotations

import msgspec

from tonnage.cluster.objects import Pod
from tonnage.cluster.objects.meta import Value


class MemoryUsage(Value, frozen=True):
    available_bytes: int | None = None
    usage_bytes: int | None = None
    working_set_bytes: int | None = None
    rss_bytes: int | None = None


class DiskUsage(Value, frozen=True):
    available_bytes: int | None = None
    capacity_bytes: int | None = None
    used_bytes: int | None = None
    inodes: int | None = None
    inodes_free: int | None = None
    inodes_used: int | None = None


class VolumeUsage(DiskUsage, frozen=True):
    name: str = ""


class ContainerUsage(Value, frozen=True):
    name: str
    memory: MemoryUsage | None = None
    rootfs: DiskUsage | None = None
    logs: DiskUsage | None = None


class PodReference(Value, frozen=True):
    name: str = ""
    namespace: str = ""
    uid: str = ""


class ProcessUsage(Value, frozen=True):
    process_count: int | None = msgspec.field(default=None, name="process_count")


class PodUsage(Value, frozen=True):
    """One pod's line in the summary."""

    pod_ref: PodReference = PodReference()
    memory: MemoryUsage | None = None
    containers: tuple[ContainerUsage, ...] = ()
    volumes: tuple[VolumeUsage, ...] = msgspec.field(default=(), name="volume")
    ephemeral_storage: DiskUsage | None = msgspec.field(default=None, name="ephemeral-storage")
    process_stats: ProcessUsage | None = msgspec.field(default=None, name="process_stats")

    def working_set(self) -> int:
        """Memory as eviction sees it; nothing measured counts as nothing used."""
        return (self.memory.working_set_bytes if self.memory else None) or 0

    def processes(self) -> int:
        return (self.process_stats.process_count if self.process_stats else None) or 0


class RuntimeUsage(Value, frozen=True):
    image_fs: DiskUsage | None = None
    container_fs: DiskUsage | None = None


class ProcessLimit(Value, frozen=True):
    max_pid: int | None = msgspec.field(default=None, name="maxpid")
    running: int | None = msgspec.field(default=None, name="curproc")


class NodeUsage(Value, frozen=True):
    node_name: str = ""
    memory: MemoryUsage | None = None
    fs: DiskUsage | None = None
    runtime: RuntimeUsage | None = None
    rlimit: ProcessLimit | None = None
    system_containers: tuple[ContainerUsage, ...] = ()


class StatsSummary(Value, frozen=True):
    """The whole answer of a kubelet's `/stats/summary`."""

    node: NodeUsage = NodeUsage()
    pods: tuple[PodUsage, ...] = ()

    def of(self, pod: Pod) -> PodUsage | None:
        """The pod's usage, found by uid as the kubelet does; None when nothing was measured."""
        for usage in self.pods:
            if usage.pod_ref.uid == pod.metadata.uid:
                return usage
        return None
