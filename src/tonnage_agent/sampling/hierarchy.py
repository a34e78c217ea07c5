"""Where in the cgroup file system this process' own numbers are: version 1, version 2, or both side by side.

`/proc/self/cgroup` says which cgroup we are in and which version holds a controller; inside a container the path it
names is usually not visible, because the runtime mounts our own cgroup at the root. So both places are tried, the
named one first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

CGROUP_ROOT = Path("/sys/fs/cgroup")
SELF_CGROUP = Path("/proc/self/cgroup")


def candidates(
    root: Path, self_cgroup: str, controller: str, mounts: Sequence[str]
) -> Iterator[tuple[int, Path]]:
    """Where a controller's numbers may be: version 1 if it owns it, the path we are named before the root."""
    named: dict[int, str] = {}
    for line in self_cgroup.splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number == "0" and not controllers:
            named[2] = path
        elif controller in controllers.split(","):
            named[1] = path
    # A path through ".." names a cgroup outside our namespace: not below the root.
    inside = {v: path.lstrip("/") for v, path in named.items() if ".." not in Path(path).parts}
    if 1 in named or 2 not in named:
        for mount in mounts:
            yield 1, root / mount / inside.get(1, "")
            yield 1, root / mount
    for unified in (root, root / "unified"):
        yield 2, unified / inside.get(2, "")
        yield 2, unified
    if 1 not in named and 2 in named:
        for mount in mounts:
            yield 1, root / mount


def is_whole_machine(folder: Path) -> bool:
    """Whether a version 1 folder is the machine's own root, which counts everybody: only that has this file."""
    return (folder / "release_agent").exists()


def upwards(folder: Path, root: Path) -> Iterator[Path]:
    """Our cgroup and those above it, up to the mount."""
    for place in (folder, *folder.parents):
        yield place
        if place == root:
            return
