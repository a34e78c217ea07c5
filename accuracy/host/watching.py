"""Run a program in a memory cgroup of its own and read what the kernel charges to it.

This is the figure that decides: a container is killed by what its cgroup is charged for, not by what `ps` says.
Four parts are kept apart, because they behave differently under pressure: anonymous memory and shared memory
cannot be taken back, kernel memory hardly, file pages can.
"""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

V1 = Path("/sys/fs/cgroup/memory")
V2 = Path("/sys/fs/cgroup")
PERIOD_SECONDS = 0.004


@dataclass(frozen=True, slots=True)
class Charge:
    """What a cgroup holds, in bytes."""

    anon: int = 0
    shmem: int = 0
    file: int = 0
    kernel: int = 0

    @property
    def firm(self) -> int:
        """What cannot be reclaimed: a limit below this kills."""
        return self.anon + self.shmem + self.kernel

    def at_least(self, other: Charge) -> Charge:
        """The larger of each part."""
        return Charge(
            *(max(mine, theirs) for mine, theirs in zip(self._parts(), other._parts(), strict=True))
        )

    def _parts(self) -> tuple[int, int, int, int]:
        return self.anon, self.shmem, self.file, self.kernel


@dataclass(frozen=True, slots=True)
class Mark:
    """A point of the program: what it held there, and the most since the point before."""

    name: str
    held: Charge
    peak: Charge
    peak_firm: int
    facts: dict[str, Any]

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "held": asdict(self.held),
            "peak": asdict(self.peak),
            "peak_firm": self.peak_firm,
            "facts": self.facts,
        }


@dataclass(frozen=True, slots=True)
class Watched:
    """What was seen of one program."""

    marks: list[Mark]
    exit_code: int

    def __getitem__(self, name: str) -> Mark:
        return next(mark for mark in self.marks if mark.name == name)


class Cgroup:
    """A memory cgroup for the time of one program."""

    def __init__(self, name: str, limit: int | None = None) -> None:
        self.is_v1 = V1.is_dir()
        self.path = (V1 if self.is_v1 else V2) / name
        self.path.mkdir()
        if limit is not None:
            (self.path / ("memory.limit_in_bytes" if self.is_v1 else "memory.max")).write_text(str(limit))

    def charge(self) -> Charge:
        """What is charged now."""
        stat = dict(line.split() for line in (self.path / "memory.stat").read_text().splitlines())
        if self.is_v1:
            kernel = int((self.path / "memory.kmem.usage_in_bytes").read_text())
            shmem, cache = int(stat["total_shmem"]), int(stat["total_cache"])
            return Charge(int(stat["total_rss"]), shmem, cache - shmem, kernel)
        shmem, file = int(stat["shmem"]), int(stat["file"])
        return Charge(int(stat["anon"]), shmem, file - shmem, int(stat.get("kernel", stat["slab"])))

    def remove(self) -> None:
        """Take it away again; its processes have ended, the kernel may need a moment to notice."""
        for _ in range(500):
            with suppress(OSError):
                self.path.rmdir()
                return
            time.sleep(0.02)


def watch(
    command: list[str], *, limit: int | None = None, environment: dict[str, str] | None = None
) -> Watched:
    """Run a program that stops at marks, and say what it held at each."""
    group = Cgroup(f"tonnage-host-{os.getpid()}-{time.monotonic_ns()}", limit)
    try:
        process = subprocess.Popen(
            ["sh", "-c", 'echo $$ > "$TONNAGE_CGROUP/cgroup.procs" && exec "$@"', "sh", *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ
            | (environment or {})
            | {"TONNAGE_CGROUP": str(group.path), "OMP_NUM_THREADS": "1"},
        )
        return _follow(process, group)
    finally:
        group.remove()


def _follow(process: subprocess.Popen[str], group: Cgroup) -> Watched:
    assert process.stdout is not None
    assert process.stdin is not None
    peaks = _Peaks(group)
    marks: list[Mark] = []
    with peaks:
        for line in process.stdout:
            with suppress(json.JSONDecodeError):
                said = json.loads(line)
                time.sleep(0.05)  # the kernel counts in batches per core; let them arrive
                held, (peak, firm) = group.charge(), peaks.take()
                marks.append(Mark(said.pop("mark"), held, peak.at_least(held), max(firm, held.firm), said))
                with suppress(BrokenPipeError):
                    process.stdin.write("\n")
                    process.stdin.flush()
    return Watched(marks, process.wait())


class _Peaks:
    """The most seen since it was last asked, from samples a few milliseconds apart."""

    def __init__(self, group: Cgroup) -> None:
        self._group, self._lock, self._done = group, threading.Lock(), threading.Event()
        self._peak, self._firm = Charge(), 0
        self._thread = threading.Thread(target=self._sample, daemon=True)

    def __enter__(self) -> _Peaks:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def take(self) -> tuple[Charge, int]:
        with self._lock:
            taken = self._peak, self._firm
            self._peak, self._firm = Charge(), 0
            return taken

    def _sample(self) -> None:
        while not self._done.wait(PERIOD_SECONDS):
            charge = self._group.charge()
            with self._lock:
                self._peak = self._peak.at_least(charge)
                self._firm = max(self._firm, charge.firm)
