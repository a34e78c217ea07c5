"""Read this container's memory from its cgroup: version 1, version 2, or both mounted side by side
(hybrid).

`sampling.hierarchy` says where our own numbers may be. On version 2 a wall may stand further up (the pod's), so
the smallest limit on the way up counts. What a training step needs is not what is used: page cache fills any limit
and is given back for the asking, so the parts that cannot be given back are told one by one.

File in, numbers out: nothing here waits, loops or keeps state. Bytes throughout.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tonnage_agent.sampling.files import number, table, text
from tonnage_agent.sampling.hierarchy import CGROUP_ROOT, SELF_CGROUP, candidates, upwards
from tonnage_agent.sampling.pressure import read_pressure
from tonnage_agent.telemetry import Sample

__all__ = ["CGROUP_ROOT", "SELF_CGROUP", "CgroupError", "locate", "read_sample"]

# Version 1 writes "no limit" as the largest page-aligned int64; nothing real comes near.
_NO_LIMIT = 2**62
_KERNEL = ("slab_unreclaimable", "kernel_stack", "pagetables", "sec_pagetables", "percpu", "sock", "vmalloc")


class CgroupError(Exception):
    """The cgroup could not be read; the text says what was looked for, and where."""


def read_sample(when: float, *, root: Path = CGROUP_ROOT, self_cgroup: Path = SELF_CGROUP) -> Sample:
    """Measure this process' own container; `when` is the caller's clock."""
    version, folder = locate(root, text(self_cgroup) or "")
    return read_at(when, version, folder, root)


def read_at(when: float, version: int, folder: Path, root: Path = CGROUP_ROOT) -> Sample:
    """Measure a cgroup that was located before."""
    return _read_v2(when, folder, root) if version == 2 else _read_v1(when, folder)


def locate(root: Path, self_cgroup: str) -> tuple[int, Path]:
    """The cgroup version that counts memory, and the folder that counts ours."""
    tried: list[str] = []
    for version, folder in candidates(root, self_cgroup, "memory", ("memory",)):
        usage = folder / ("memory.current" if version == 2 else "memory.usage_in_bytes")
        if usage.is_file():
            return version, folder
        tried.append(str(usage))
    raise CgroupError(f"no memory cgroup found: looked for {', '.join(dict.fromkeys(tried))}")


def _read_v2(when: float, folder: Path, root: Path) -> Sample:
    usage = number(folder / "memory.current")
    if usage is None:
        raise CgroupError(f"{folder / 'memory.current'} holds no number")
    stat, events = table(folder / "memory.stat"), table(folder / "memory.events")
    pressure = read_pressure(folder / "memory.pressure")
    return Sample(
        when=when,
        source="cgroup-v2",
        usage_bytes=usage,
        working_set_bytes=max(usage - stat.get("inactive_file", 0), 0),
        limit_bytes=min(_limits_above(folder, root), default=None),
        anon_bytes=stat.get("anon"),
        file_bytes=stat.get("file"),
        shmem_bytes=stat.get("shmem"),
        kernel_bytes=sum(stat.get(name, 0) for name in _KERNEL) if "slab_unreclaimable" in stat else None,
        swap_bytes=number(folder / "memory.swap.current"),
        peak_bytes=number(folder / "memory.peak"),
        oom_kills=events.get("oom_kill"),
        oom_events=events.get("oom"),
        limit_hits=events.get("max"),
        throttle_events=events.get("high"),
        waiting_micros=pressure.waiting_micros,
        stalled_micros=pressure.stalled_micros,
    )


def _read_v1(when: float, folder: Path) -> Sample:
    usage = number(folder / "memory.usage_in_bytes")
    if usage is None:
        raise CgroupError(f"{folder / 'memory.usage_in_bytes'} holds no number")
    stat, control = table(folder / "memory.stat"), table(folder / "memory.oom_control")
    limits = [number(folder / "memory.limit_in_bytes"), stat.get("hierarchical_memory_limit")]
    return Sample(
        when=when,
        source="cgroup-v1",
        usage_bytes=usage,
        working_set_bytes=max(usage - stat.get("total_inactive_file", 0), 0),
        limit_bytes=min((limit for limit in limits if limit is not None and limit < _NO_LIMIT), default=None),
        anon_bytes=stat.get("total_rss"),
        file_bytes=stat.get("total_cache"),
        shmem_bytes=stat.get("total_shmem"),
        swap_bytes=stat.get("total_swap"),
        peak_bytes=number(folder / "memory.max_usage_in_bytes"),
        oom_kills=control.get("oom_kill"),
        limit_hits=number(folder / "memory.failcnt"),
    )


def _limits_above(folder: Path, root: Path) -> Iterator[int]:
    """Every limit from our cgroup up to the mount."""
    for place in upwards(folder, root):
        limit = number(place / "memory.max")
        if limit is not None:
            yield limit
