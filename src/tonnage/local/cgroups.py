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

from tonnage_agent.cgroup import CgroupError, read_at
from tonnage_agent.sampling.hierarchy import CGROUP_ROOT, SELF_CGROUP, candidates
from tonnage_agent.telemetry import Sample

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
        sample = self._sample()
        return None if sample is None else sample.peak_bytes

    @property
    def oom_kills(self) -> int | None:
        """Kills the kernel counted here; None where it does not tell."""
        sample = self._sample()
        return None if sample is None else sample.oom_kills

    def _sample(self) -> Sample | None:
        """What the kernel counts, read as the agent reads it."""
        try:
            return read_at(time.time(), self.version, self.folder)
        except CgroupError:
            return None

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
    name: str, limit: int, root: Path = CGROUP_ROOT, self_cgroup: Path = SELF_CGROUP
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


def is_permitted() -> bool:
    """Whether this user may limit memory by a cgroup; asked by making one."""
    group = make(f"tonnage-asked-{os.getpid()}", 2**30)
    if group is not None:
        group.remove()
    return group is not None


def _parents(root: Path, self_cgroup: Path) -> list[tuple[int, Path]]:
    """Where a child of ours may be made, likeliest first.

    Version 2 gives no controllers to children of a cgroup that holds processes itself, as ours does: beside it may do.
    """
    named = self_cgroup.read_text() if self_cgroup.is_file() else ""
    found: list[tuple[int, Path]] = []
    for version, folder in candidates(root, named, "memory", ("memory",)):
        marker = folder / ("cgroup.controllers" if version == 2 else "memory.limit_in_bytes")
        if marker.is_file():
            found.append((version, folder))
            is_mount = version == 1 or folder in (root, root / "unified")
            found += [] if is_mount else [(version, folder.parent)]
    return list(dict.fromkeys(found))


def _enable_memory(parent: Path) -> None:
    if "memory" not in (parent / "cgroup.subtree_control").read_text().split():
        (parent / "cgroup.subtree_control").write_text("+memory")
