"""Processes as the kernel sees them: who is whose child, what each holds.

Only `stat` and `statm` are read again and again: they are answered without the process' own locks, so a process stuck
in a page fault on a dead file server cannot hold the agent. Command lines are read once per process.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass

from tonnage_agent.sampling.files import text

PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class Process:
    """One process at one moment."""

    pid: int
    parent: int
    name: str
    state: str
    session: int
    threads: int
    started: int
    """Clock ticks since boot: with the pid, who it is."""
    resident_bytes: int
    cpu_ticks: int = 0
    """Its own CPU time and that of all children it has waited for."""


def read_process(pid: int, proc: str = "/proc") -> Process | None:
    """One process; None when it is gone."""
    line = text(f"{proc}/{pid}/stat")
    if not line:
        return None
    # The name may hold spaces and brackets: the last ")" ends it.
    before, _, after = line.rpartition(")")
    fields = after.split()
    try:
        return Process(
            pid=pid,
            parent=int(fields[1]),
            name=before.partition("(")[2],
            state=fields[0],
            session=int(fields[3]),
            threads=int(fields[17]),
            started=int(fields[19]),
            resident_bytes=int(fields[21]) * PAGE,
            cpu_ticks=sum(int(field) for field in fields[11:15]),
        )
    except (IndexError, ValueError):
        return None


def all_processes(proc: str = "/proc") -> dict[int, Process]:
    """Every process we can see."""
    found = {}
    for entry in os.listdir(proc):
        if entry.isdecimal():
            process = read_process(int(entry), proc)
            if process is not None:
                found[process.pid] = process
    return found


def descendants(of: int, among: Iterable[Process]) -> list[Process]:
    """All children of a process, their children, and so on, nearest first."""
    children: dict[int, list[Process]] = {}
    for process in among:
        children.setdefault(process.parent, []).append(process)
    found: list[Process] = []
    waiting = [of]
    seen = {of}
    while waiting:
        for child in children.get(waiting.pop(0), []):
            if child.pid not in seen:
                seen.add(child.pid)
                found.append(child)
                waiting.append(child.pid)
    return found


def catches(pid: int, signal_number: int, proc: str = "/proc") -> bool:
    """Whether a process has a handler of its own for a signal."""
    for line in (text(f"{proc}/{pid}/status") or "").splitlines():
        if line.startswith("SigCgt:"):
            return bool(int(line.split()[1], 16) >> (signal_number - 1) & 1)
    return False
