"""A container ends with its command: what the command left running is asked to end, then ended."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable

from tonnage_agent.wrapping.command import send
from tonnage_agent.wrapping.family import Process, all_processes, descendants

_KILL_SECONDS = 1.0


def kill_everything() -> None:
    """SIGKILL to all our descendants."""
    for process in descendants(os.getpid(), all_processes().values()):
        send(signal.SIGKILL, process.pid)


def end_leftovers(reap: Callable[[], object], seconds: float) -> int:
    """End what is left, by SIGTERM and after some seconds by SIGKILL; how many there were."""
    first = len(_alive(reap))
    if first and not _ask(signal.SIGTERM, reap, seconds):
        _ask(signal.SIGKILL, reap, _KILL_SECONDS)
    return first


def _ask(number: int, reap: Callable[[], object], seconds: float) -> bool:
    """Signal everybody once, newcomers too; True when nobody is left."""
    until = time.monotonic() + seconds
    told: set[int] = set()
    while True:
        alive = _alive(reap)
        if not alive:
            return True
        if time.monotonic() >= until and told:
            return False
        for process in alive:
            if process.pid not in told:
                told.add(process.pid)
                send(number, process.pid)
        time.sleep(0.02)


def _alive(reap: Callable[[], object]) -> list[Process]:
    reap()
    return [each for each in descendants(os.getpid(), all_processes().values()) if each.state != "Z"]
