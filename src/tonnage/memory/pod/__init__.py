"""What a pod needs beside GPU memory: RAM, /dev/shm, disk and cores, each part with what changes it.

These four kill or starve more training pods than GPU memory does, and nobody sizes them: a limit guessed from
the last OOM, the runtime's 64 MiB of shared memory, a node's disk until the kubelet evicts. Everything here is
plain values in and out; the constants come from real processes measured in a memory cgroup (`accuracy/host`).
"""

from __future__ import annotations

from tonnage.memory.pod.cpu import cpu_need
from tonnage.memory.pod.loader import retained
from tonnage.memory.pod.needs import CpuNeed, Need, NeedPart, PodNeeds
from tonnage.memory.pod.ram import ram_need, ram_phases
from tonnage.memory.pod.storage import disk_need, shm_need
from tonnage.memory.pod.wish import CheckpointWish, LoaderWish, PodWish

__all__ = ["CheckpointWish", "CpuNeed", "LoaderWish", "Need", "NeedPart", "PodNeeds", "PodWish", "pod_needs"]


def pod_needs(wish: PodWish) -> PodNeeds:
    """RAM, /dev/shm, disk and cores of one pod."""
    phases = ram_phases(wish)
    return PodNeeds(
        ram=ram_need(phases, trains_on_cpu=wish.host_state_bytes > 0),
        phases=tuple(phases.items()),
        shm=shm_need(wish),
        disk=disk_need(wish),
        cpu=cpu_need(wish),
        warnings=tuple(_warnings(wish)),
    )


def _warnings(wish: PodWish) -> list[str]:
    found = []
    kept = retained(wish.loader) * wish.loader.workers * wish.ranks
    if kept >= 4 * 2**30:
        found.append(
            f"loader workers keep up to {kept / 2**30:.0f} GiB of freed samples (glibc before 2.38); "
            "MALLOC_MMAP_THRESHOLD_=65536 in env gives them back"
        )
    return found
