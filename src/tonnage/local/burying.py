"""What an attempt leaves when its shim was killed too: nobody is there to end its processes and remove its cgroup.

A trainer that lost its agent is told to end by the kernel, and may take its time or not listen. The next attempt must
not find it still writing, so whoever sees that the attempt is over ends what is left. Found by what it was started
with: each process carries the run's record folder, its attempt and its node in its variables.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from tonnage.local.cgroups import MemoryCgroup
from tonnage.local.processes import PROC
from tonnage_agent import contract

_CGROUP = "cgroup-v"


def bury(told: Mapping[str, Any], record: Path, attempt: int, node: int) -> int | None:
    """End what is left of one node of an attempt; `told` is what its shim wrote about itself.

    Returns the kills for memory that its cgroup had counted, the last thing that can be learned of it; None where
    there is none to ask.
    """
    kills = None
    for pid in started_for(record, attempt, node):
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
    folder, by = told.get("cgroup"), str(told.get("by", ""))
    if folder and by.startswith(_CGROUP):
        group = MemoryCgroup(Path(folder), int(by.removeprefix(_CGROUP)))
        kills = group.oom_kills
        with suppress(OSError):
            group.remove()
    return kills


def started_for(record: Path, attempt: int, node: int) -> list[int]:
    """Processes that were started for this node of this attempt, and whatever they started."""
    wanted = {
        f"{contract.RECORD}={record}".encode(),
        f"{contract.ATTEMPT}={attempt}".encode(),
        f"{contract.NODE}={node}".encode(),
    }
    found = []
    for entry in PROC.iterdir():
        if entry.name.isdecimal():
            with suppress(OSError):
                if wanted <= set((entry / "environ").read_bytes().split(b"\0")):
                    found.append(int(entry.name))
    return found
