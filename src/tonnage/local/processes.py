"""Processes by identity: a pid alone is a name that the kernel gives to somebody else later."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")


@dataclass(frozen=True)
class Identity:
    """A process: its pid and when it started, in clock ticks since boot."""

    pid: int
    started: int

    @classmethod
    def of(cls, pid: int) -> Identity | None:
        """Who has this pid now; None where nobody has, or only a zombie."""
        fields = _stat(pid)
        return None if fields is None or fields[0] == "Z" else cls(pid, int(fields[19]))

    @property
    def is_alive(self) -> bool:
        return Identity.of(self.pid) == self

    def signal(self, number: signal.Signals) -> bool:
        """Send a signal; False where the process is gone."""
        if not self.is_alive:
            return False
        try:
            os.kill(self.pid, number)
        except ProcessLookupError:
            return False
        return True


def descendants(pid: int) -> list[int]:
    """The process and everything below it that is not a zombie."""
    parents = {each: int(fields[1]) for each, fields in _all() if fields[0] != "Z"}
    found, frontier = {pid}, [pid]
    while frontier:
        frontier = [each for each, parent in parents.items() if parent in frontier and each not in found]
        found.update(frontier)
    return [each for each in found if each in parents]


def _all() -> Iterator[tuple[int, list[str]]]:
    for entry in PROC.iterdir():
        if entry.name.isdecimal() and (fields := _stat(int(entry.name))) is not None:
            yield int(entry.name), fields


def _stat(pid: int) -> list[str] | None:
    """The fields of /proc/PID/stat from the state on; the name before it may hold anything."""
    try:
        return (PROC / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
