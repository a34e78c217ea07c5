"""The tracing process as its parent sees it: started, watched, ended.

It is the user's code, so it gets a session of its own (its data loader workers end with it), a limit of time and
one of memory. Memory is watched, not limited by the kernel: torch maps far more addresses than it ever touches.
What the code prints goes to a file that is only looked at when the process dies without an answer.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tonnage.errors import Problem
from tonnage.tracing.failures import CannotTrace

_LOOK_EVERY = 0.1
_SHARE_OF_FREE = 0.9


@dataclass(frozen=True)
class Ended:
    """How a process ended, and what it printed."""

    returncode: int
    log: str


def run_limited(command: Sequence[str], log: Path, *, seconds: float, memory: int | None) -> Ended:
    """Run to the end, or until a limit is passed; nothing of it is left behind."""
    limit = memory if memory is not None else int(_spare_memory() * _SHARE_OF_FREE)
    with log.open("wb") as out:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, start_new_session=True
        )
        try:
            _watch(process, time.monotonic() + seconds, seconds, limit)
        finally:
            _end(process)
    return Ended(process.returncode, log.read_text(encoding="utf-8", errors="replace"))


def _watch(process: subprocess.Popen[bytes], deadline: float, seconds: float, limit: int) -> None:
    while True:
        try:
            process.wait(timeout=_LOOK_EVERY)
        except subprocess.TimeoutExpired:
            pass
        else:
            return
        if time.monotonic() > deadline:
            raise CannotTrace(
                Problem(
                    code="TRACE-050",
                    what="tracing took too long",
                    found=f"more than {seconds:.0f} s",
                    hint="Does the file train at import, or load data? Only build() and one step should run.",
                )
            )
        used = _resident(process.pid)
        if used > limit:
            raise CannotTrace(
                Problem(
                    code="TRACE-051",
                    what="tracing took too much host memory",
                    found=f"{used / 2**30:.1f} GiB",
                    expected=f"at most {limit / 2**30:.1f} GiB, which this machine can spare",
                    hint="Fake tensors take none: is a data set or a checkpoint loaded on the way?",
                )
            )


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the whole session, so that workers of the user's code do not outlive it."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _resident(pid: int) -> int:
    """Bytes of RAM the process holds; 0 where the kernel does not tell."""
    with contextlib.suppress(OSError, IndexError, ValueError):
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return 0


def _spare_memory() -> int:
    """RAM this machine, or the container we are in, could still give."""
    spare = 2**63
    with contextlib.suppress(OSError, ValueError):
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                spare = int(line.split()[1]) * 1024
    with contextlib.suppress(OSError, ValueError):
        cgroup = Path("/sys/fs/cgroup")
        most = int((cgroup / "memory.max").read_text())
        spare = min(spare, most - int((cgroup / "memory.current").read_text()))
    return spare
