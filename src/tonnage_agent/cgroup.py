"""Read this container's memory from its cgroup: version 1, version 2, or both mounted side by side
(hybrid).

`/proc/self/cgroup` says which cgroup we are in and which version holds the memory controller; inside a
container the path it names is usually not visible, because the runtime mounts our own cgroup at the root.
So both places are tried, the named one first. On version 2 a wall may stand further up (the pod's), so the
smallest limit on the way up counts.

File in, numbers out: nothing here waits, loops or keeps state. Bytes throughout.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tonnage_agent.telemetry import Sample

CGROUP_ROOT = Path("/sys/fs/cgroup")
SELF_CGROUP = Path("/proc/self/cgroup")
# Version 1 writes "no limit" as the largest page-aligned int64; nothing real comes near.
_NO_LIMIT = 2**62


class CgroupError(Exception):
    """The cgroup could not be read; the text says what was looked for, and where."""


def read_sample(when: float, *, root: Path = CGROUP_ROOT, self_cgroup: Path = SELF_CGROUP) -> Sample:
    """Measure this process' own container; `when` is the caller's clock."""
    version, folder = locate(root, _text(self_cgroup) or "")
    return _read_v2(when, folder, root) if version == 2 else _read_v1(when, folder)


def locate(root: Path, self_cgroup: str) -> tuple[int, Path]:
    """The cgroup version that counts memory, and the folder that counts ours."""
    tried: list[str] = []
    for version, folder in _candidates(root, self_cgroup):
        usage = folder / ("memory.current" if version == 2 else "memory.usage_in_bytes")
        if usage.is_file():
            return version, folder
        tried.append(str(usage))
    raise CgroupError(f"no memory cgroup found: looked for {', '.join(dict.fromkeys(tried))}")


def _candidates(root: Path, self_cgroup: str) -> Iterator[tuple[int, Path]]:
    """Where our numbers may be: version 1 if it owns memory, the path we are named before the root."""
    named: dict[int, str] = {}
    for line in self_cgroup.splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number == "0" and not controllers:
            named[2] = path
        elif "memory" in controllers.split(","):
            named[1] = path
    # A path through ".." names a cgroup outside our namespace: not below the root.
    inside = {v: path.lstrip("/") for v, path in named.items() if ".." not in Path(path).parts}
    if 1 in named or 2 not in named:
        yield 1, root / "memory" / inside.get(1, "")
        yield 1, root / "memory"
    for mount in (root, root / "unified"):
        yield 2, mount / inside.get(2, "")
        yield 2, mount
    if 1 not in named and 2 in named:
        yield 1, root / "memory"


def _read_v2(when: float, folder: Path, root: Path) -> Sample:
    usage = _number(folder / "memory.current")
    if usage is None:
        raise CgroupError(f"{folder / 'memory.current'} holds no number")
    stat, events = _table(folder / "memory.stat"), _table(folder / "memory.events")
    return Sample(
        when=when,
        source="cgroup-v2",
        usage_bytes=usage,
        working_set_bytes=max(usage - stat.get("inactive_file", 0), 0),
        limit_bytes=min(_limits_above(folder, root), default=None),
        anon_bytes=stat.get("anon"),
        file_bytes=stat.get("file"),
        shmem_bytes=stat.get("shmem"),
        peak_bytes=_number(folder / "memory.peak"),
        oom_kills=events.get("oom_kill"),
    )


def _read_v1(when: float, folder: Path) -> Sample:
    usage = _number(folder / "memory.usage_in_bytes")
    if usage is None:
        raise CgroupError(f"{folder / 'memory.usage_in_bytes'} holds no number")
    stat, control = _table(folder / "memory.stat"), _table(folder / "memory.oom_control")
    limits = [_number(folder / "memory.limit_in_bytes"), stat.get("hierarchical_memory_limit")]
    return Sample(
        when=when,
        source="cgroup-v1",
        usage_bytes=usage,
        working_set_bytes=max(usage - stat.get("total_inactive_file", 0), 0),
        limit_bytes=min((limit for limit in limits if limit is not None and limit < _NO_LIMIT), default=None),
        anon_bytes=stat.get("total_rss"),
        file_bytes=stat.get("total_cache"),
        shmem_bytes=stat.get("total_shmem"),
        peak_bytes=_number(folder / "memory.max_usage_in_bytes"),
        oom_kills=control.get("oom_kill"),
    )


def _limits_above(folder: Path, root: Path) -> Iterator[int]:
    """Every limit from our cgroup up to the mount."""
    for place in (folder, *folder.parents):
        limit = _number(place / "memory.max")
        if limit is not None:
            yield limit
        if place == root:
            return


def _table(path: Path) -> dict[str, int]:
    """Lines of `name number`; others are skipped."""
    found = {}
    for line in (_text(path) or "").splitlines():
        name, _, value = line.partition(" ")
        if value.strip().isdecimal():
            found[name] = int(value)
    return found


def _number(path: Path) -> int | None:
    """The file's one number; None when it is absent or says `max`."""
    text = (_text(path) or "").strip()
    return int(text) if text.isdecimal() else None


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
