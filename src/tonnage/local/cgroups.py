"""A memory limit by cgroup: the same wall, and the same death at it, as in a pod.

Version 1 where the memory controller is mounted that way, version 2 where our own cgroup may have children. Many
machines permit neither to ordinary users; then `make` returns nothing and the run is watched instead.
"""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
_REMOVE_SECONDS = 5.0


@dataclass(frozen=True)
class MemoryCgroup:
    """One cgroup of ours that counts and limits memory."""

    folder: Path
    version: int

    def enter(self, pid: int) -> None:
        (self.folder / "cgroup.procs").write_text(str(pid))

    def set_limit(self, limit: int) -> None:
        """Set the wall; swap counts where the kernel counts it, so that more than the limit is never held."""
        if self.version == 2:
            (self.folder / "memory.max").write_text(str(limit))
            with contextlib.suppress(OSError):
                (self.folder / "memory.swap.max").write_text("0")
            return
        both = self.folder / "memory.memsw.limit_in_bytes"
        with contextlib.suppress(OSError):  # raising goes the other way round than lowering
            both.write_text(str(limit))
        (self.folder / "memory.limit_in_bytes").write_text(str(limit))
        with contextlib.suppress(OSError):
            both.write_text(str(limit))

    @property
    def peak(self) -> int | None:
        return _number(self.folder / ("memory.peak" if self.version == 2 else "memory.max_usage_in_bytes"))

    @property
    def oom_kills(self) -> int | None:
        """Kills the kernel counted here; None where it does not tell."""
        events = self.folder / ("memory.events" if self.version == 2 else "memory.oom_control")
        return _table(events).get("oom_kill")

    @property
    def pids(self) -> list[int]:
        try:
            return [int(line) for line in (self.folder / "cgroup.procs").read_text().split()]
        except OSError:
            return []

    def remove(self) -> None:
        """Remove it; whoever is still inside is killed first, or the kernel refuses."""
        give_up = time.monotonic() + _REMOVE_SECONDS
        while self.folder.is_dir():
            for pid in self.pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, 9)
            try:
                self.folder.rmdir()
            except OSError:
                if time.monotonic() > give_up:
                    raise
                time.sleep(0.02)


def make(
    name: str, limit: int, root: Path = ROOT, self_cgroup: Path = Path("/proc/self/cgroup")
) -> MemoryCgroup | None:
    """A cgroup with a memory limit; None where this user may not make one."""
    for version, parent in _parents(root, self_cgroup):
        folder = parent / name
        group = MemoryCgroup(folder, version)
        try:
            folder.mkdir(exist_ok=True)
            if version == 2:
                _enable_memory(parent)
            group.set_limit(limit)
            return group
        except OSError:
            with contextlib.suppress(OSError):
                folder.rmdir()
    return None


def _parents(root: Path, self_cgroup: Path) -> list[tuple[int, Path]]:
    """Where a child of ours may be made, likeliest first."""
    named: dict[int, str] = {}
    for line in self_cgroup.read_text().splitlines() if self_cgroup.is_file() else ():
        number, controllers, path = line.split(":", 2)
        if "memory" in controllers.split(","):
            named[1] = path.lstrip("/")
        elif number == "0":
            named[2] = path.lstrip("/")
    found: list[tuple[int, Path]] = []
    if (root / "memory" / "memory.limit_in_bytes").exists() or 1 in named:
        found += [(1, root / "memory" / named.get(1, "")), (1, root / "memory")]
    for mount in (root, root / "unified"):
        if (mount / "cgroup.controllers").is_file():
            own = mount / named.get(2, "")
            found += [(2, own), (2, own.parent), (2, mount)]
    return [(version, folder) for version, folder in dict.fromkeys(found) if folder.is_dir()]


def _enable_memory(parent: Path) -> None:
    if "memory" not in (parent / "cgroup.subtree_control").read_text().split():
        (parent / "cgroup.subtree_control").write_text("+memory")


def _table(path: Path) -> dict[str, int]:
    try:
        lines = [line.split() for line in path.read_text().splitlines()]
    except OSError:
        return {}
    return {line[0]: int(line[1]) for line in lines if len(line) == 2 and line[1].isdecimal()}


def _number(path: Path) -> int | None:
    try:
        text = path.read_text().strip()
    except OSError:
        return None
    return int(text) if text.isdecimal() else None
