"""The cgroup a real node's pods live under, in every hierarchy, for cgroup v1 and v2.

A kubelet normally owns the machine's root cgroup. Several nodes on one machine each get a top-level cgroup
of their own instead, named in the ledger before it is made; the kubelet is told `cgroupRoot: /NAME` and
builds its usual tree below. Removing that one name in every hierarchy removes all a node ever made.

On v1 there is one folder tree per controller, and `cpuset` starts empty: a child cannot hold a process
until its CPUs and memory nodes are set. On v2 there is one tree, and a controller must be handed down by
the root first.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path

from tonnage.errors import EnvironmentProblem, Problem

MOUNT = Path("/sys/fs/cgroup")
_NEEDED_V2 = ("cpu", "cpuset", "memory", "pids")
_REMOVAL_SECONDS = 10.0


def is_v2(mount: Path = MOUNT) -> bool:
    """Whether this machine has the one unified tree."""
    return (mount / "cgroup.controllers").exists()


def hierarchies(mount: Path = MOUNT) -> tuple[Path, ...]:
    """The roots of all cgroup trees; one on v2, one per controller on v1, named trees included."""
    if is_v2(mount):
        return (mount,)
    found = [folder for folder in sorted(mount.glob("*")) if (folder / "cgroup.procs").exists()]
    # cpu,cpuacct and its like are reached by links too; each tree counts once.
    return tuple(dict.fromkeys(folder.resolve() for folder in found))


def make(name: str, mount: Path = MOUNT) -> None:
    """Make the cgroup in every hierarchy, ready for a kubelet."""
    if is_v2(mount):
        _hand_down(mount)
    for root in hierarchies(mount):
        folder = root / name
        folder.mkdir(exist_ok=True)
        for setting in ("cpuset.cpus", "cpuset.mems"):
            if not is_v2(mount) and (folder / setting).exists():
                (folder / setting).write_text((root / setting).read_text())


def remove(name: str, mount: Path = MOUNT) -> None:
    """Remove the cgroup and all below it; whatever still runs in it is killed first."""
    deadline = time.monotonic() + _REMOVAL_SECONDS
    for root in hierarchies(mount):
        while (root / name).exists():
            _kill_members(root / name)
            _remove_tree(root / name)
            if (root / name).exists():
                if time.monotonic() > deadline:
                    raise _still_busy(root / name)
                time.sleep(0.05)


def exists(name: str, mount: Path = MOUNT) -> bool:
    """Whether any hierarchy has a cgroup of this name."""
    return any((root / name).exists() for root in hierarchies(mount))


def _hand_down(mount: Path) -> None:
    missing = [c for c in _NEEDED_V2 if c not in (mount / "cgroup.controllers").read_text().split()]
    control = mount / "cgroup.subtree_control"
    wanted = [c for c in _NEEDED_V2 if c not in control.read_text().split()]
    try:
        if wanted and not missing:
            control.write_text(" ".join(f"+{controller}" for controller in wanted))
    except OSError:
        missing = wanted
    if missing:
        raise EnvironmentProblem(
            Problem(
                code="BOX-212",
                what="real nodes need cgroup controllers that this machine does not hand down",
                where=str(control),
                found=f"no {', '.join(missing)}",
                expected=", ".join(_NEEDED_V2),
                hint="run on the machine itself rather than inside a container, or start the container with "
                "--privileged --cgroupns=host",
            )
        )


def _kill_members(folder: Path) -> None:
    for listing in folder.rglob("cgroup.procs"):
        with contextlib.suppress(OSError):
            for pid in listing.read_text().split():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGKILL)


def _remove_tree(folder: Path) -> None:
    """Depth first; a cgroup's files go with its folder, and a busy one stays for the next round."""
    with contextlib.suppress(OSError):
        for child in folder.iterdir():
            if child.is_dir():
                _remove_tree(child)
        folder.rmdir()


def _still_busy(folder: Path) -> EnvironmentProblem:
    return EnvironmentProblem(
        Problem(
            code="BOX-213",
            what="a node's cgroup could not be removed",
            where=str(folder),
            found="processes that do not end",
            hint="look at its cgroup.procs, then run the same `tonnage sandbox down` again",
        )
    )
