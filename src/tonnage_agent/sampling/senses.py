"""All measuring in one place, each kind as often as it is cheap and by whom it may hold up.

    memory, CPU, block I/O, network    with every sample, by the loop: the kernel answers at once
    processes                          by the loop too, seldom enough to cost next to nothing
    GPUs                               by a thread of their own: a lost GPU may never answer
    room on file systems               by the thread that writes to storage, for the same reason

What is dear is made seldom by itself: the time between two looks is at least `_SHARE` times what one took.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tonnage_agent.cgroup import CgroupError, locate, read_at
from tonnage_agent.sampling.block_io import read_block_io
from tonnage_agent.sampling.cpu import CpuUse, read_cpu
from tonnage_agent.sampling.files import text
from tonnage_agent.sampling.hierarchy import CGROUP_ROOT, SELF_CGROUP, is_whole_machine
from tonnage_agent.sampling.network import read_network
from tonnage_agent.sampling.processes import Held, Kinds, proportional_bytes
from tonnage_agent.sampling.space import read_room
from tonnage_agent.telemetry import Sample
from tonnage_agent.wrapping.family import Process, all_processes, descendants

PROCESSES_SECONDS = 5.0
GPU_SECONDS = 2.0
ROOM_SECONDS = 5.0
_SHARE = 500
"""One look per this many times its own cost: a fifth of a percent of a core."""
_HURRIED_SHARE = 20
"""The same while memory runs out: five percent, for the seconds before the end."""


class Senses:
    """What was last measured, by kind; nothing here raises."""

    def __init__(
        self,
        folders: Mapping[str, str],
        memory_limit: int | None = None,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        """`folders`: file systems to watch, by name. `memory_limit`: no cgroup is ours, add up processes."""
        self.processes: list[Held] = []
        self.family: list[Process] = []
        self.gpus: list[dict[str, Any]] = []
        self.gpus_at = 0.0
        self.rooms: dict[str, dict[str, Any]] = {}
        self.cpu: CpuUse | None = None
        self._folders, self.memory_limit = dict(folders), memory_limit
        self._kinds = Kinds()
        self._cgroup: tuple[int, Path] | None = None
        self._self_cgroup = text(SELF_CGROUP) or ""
        self._processes_due = self._processes_hurried = self._room_due = 0.0
        self._visible = environment.get("CUDA_VISIBLE_DEVICES")
        if memory_limit is None:
            with suppress(CgroupError):
                version, folder = locate(CGROUP_ROOT, self._self_cgroup)
                self._cgroup = None if is_whole_machine(folder) else (version, folder)

    @property
    def adds_up(self) -> bool:
        """Whether memory is the sum of our processes: no cgroup counts for us alone."""
        return self._cgroup is None

    def memory(self, when: float) -> Sample | None:
        """Memory now; None where nothing tells."""
        if self._cgroup is None:
            return self._added_up(when)
        try:
            return read_at(when, *self._cgroup)
        except CgroupError:
            return None

    def counters(self) -> dict[str, Any]:
        """CPU, block I/O and network totals, for a sample's line."""
        self.cpu = read_cpu(self._self_cgroup) or _cpu_of(self.family)
        found = {
            "cpu": self.cpu,
            "io": read_block_io(self._self_cgroup),
            "net": read_network(),
        }
        return {name: _wire(asdict(value)) for name, value in found.items() if value is not None}

    def look_at_processes(self, main: int, ranks: Collection[int] = (), *, hurry: bool = False) -> bool:
        """Find the command's processes again, if it is time; `hurry`: as often as we can afford for a while."""
        began = time.monotonic()
        if began < (self._processes_hurried if hurry else self._processes_due):
            return False
        spent = time.thread_time()
        self.family = [
            each for each in descendants(os.getpid(), all_processes().values()) if each.state != "Z"
        ]
        if any(
            each.pid == main and each.resident_bytes for each in self.family
        ):  # else it is dying: who held what before is the evidence
            self.processes = self._kinds.held(self.family, main, ranks)
        cost = time.thread_time() - spent
        self._processes_due = began + max(PROCESSES_SECONDS, _SHARE * cost)
        self._processes_hurried = began + _HURRIED_SHARE * cost
        return True

    def look_at_rooms(self) -> None:
        """Ask the file systems, if it is time; may hang with them."""
        if time.monotonic() < self._room_due:
            return
        rooms = {}
        for name, path in self._folders.items():
            room = read_room(path)
            if room is not None:
                rooms[name] = _wire(asdict(room))
        self.rooms = rooms
        self._room_due = time.monotonic() + ROOM_SECONDS

    def watch_gpus(self) -> None:
        """Begin to ask the GPUs, where there are any."""
        if _has_gpus():
            threading.Thread(target=self._ask_gpus, daemon=True).start()

    def _ask_gpus(self) -> None:
        from tonnage_agent.sampling.gpu import open_nvml

        nvml = open_nvml(self._visible)
        while nvml is not None:
            spent = time.thread_time()
            self.gpus, self.gpus_at = nvml.read(), time.time()
            time.sleep(max(GPU_SECONDS, _SHARE * (time.thread_time() - spent)))

    def _added_up(self, when: float) -> Sample | None:
        """The sum of our processes' shares, where no cgroup counts them."""
        shares = [proportional_bytes(process.pid) or process.resident_bytes for process in self.family]
        used = sum(shares)
        return Sample(
            when=when,
            source="processes",
            usage_bytes=used,
            working_set_bytes=used,
            anon_bytes=used,
            limit_bytes=self.memory_limit,
        )


def _cpu_of(family: list[Process]) -> CpuUse | None:
    """CPU time of the living and of all they have waited for, where no cgroup counts it."""
    ended = os.times()
    ticks = sum(process.cpu_ticks for process in family)
    seconds = ticks / os.sysconf("SC_CLK_TCK") + ended.children_user + ended.children_system
    return CpuUse(used_micros=round(seconds * 1e6)) if family else None


def _has_gpus() -> bool:
    """Whether the driver is here, without loading its library (which takes memory) where it is not."""
    try:
        return any(name.startswith("nvidia") for name in os.listdir("/dev"))
    except OSError:
        return False


def _wire(values: dict[str, Any]) -> dict[str, Any]:
    """camelCase, nothing that is unknown."""
    found = {}
    for name, value in values.items():
        if value in (None, (), {}, []):
            continue
        first, *rest = name.split("_")
        kept = [_wire(each) for each in value] if isinstance(value, (list, tuple)) else value
        found[first + "".join(part.capitalize() for part in rest)] = kept
    return found
