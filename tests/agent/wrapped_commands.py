"""Commands under a real agent in a real process, and what it left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

SOURCES = Path(__file__).parents[2] / "src"


class Agent:
    """One agent around one command; `record` and `message` are what a reader finds now."""

    started: ClassVar[list[Agent]] = []

    def __init__(
        self,
        folder: Path,
        *command: str,
        stdout: Any = subprocess.PIPE,
        inside: Path | None = None,
        **settings: str,
    ) -> None:
        """`inside`: a cgroup in which agent and command run, as in a container."""
        self.folder = folder
        self._message = folder / "message"
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("TONNAGE_")},
            "PYTHONPATH": str(SOURCES),
            "TONNAGE_RUN": "a-run",
            "TONNAGE_RECORD": str(folder / "record"),
            "TONNAGE_TERMINATION_MESSAGE": str(self._message),
            "TONNAGE_SAMPLE_SECONDS": "0.1",
            "TONNAGE_SOCKET": str(folder / "socket"),
            **{f"TONNAGE_{name.upper()}": value for name, value in settings.items()},
        }
        enter = ["sh", "-c", f'echo $$ > {inside}/cgroup.procs && exec "$@"', "sh"] if inside else []
        self.process = subprocess.Popen(
            [*enter, sys.executable, "-m", "tonnage_agent", "run", "--", *command],
            env=environment,
            stdout=stdout,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        Agent.started.append(self)

    @property
    def place(self) -> Path:
        return self.folder / "record" / "attempt-1" / "node-0"

    @property
    def record(self) -> dict[str, Any]:
        return json.loads((self.place / "record.json").read_bytes())

    @property
    def message(self) -> dict[str, Any]:
        return json.loads(self._message.read_bytes())

    @property
    def samples(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.place / "samples.jsonl").read_text().splitlines()]

    def until(self, holds: Callable[[dict[str, Any]], object], seconds: float = 20) -> dict[str, Any]:
        """The record once something holds in it."""
        deadline = time.monotonic() + seconds
        record: dict[str, Any] = {}
        while time.monotonic() < deadline:
            try:
                record = self.record
                if holds(record):
                    return record
            except (FileNotFoundError, KeyError):
                pass
            time.sleep(0.02)
        raise AssertionError(f"never came true; last record: {record}")

    def end(self, seconds: float = 30) -> tuple[int, bytes, bytes]:
        """Exit code and both streams."""
        out, err = self.process.communicate(timeout=seconds)
        return self.process.returncode, out, err

    def kill_all(self) -> None:
        """SIGKILL agent and command in the same instant, as a cgroup does: all are stopped first, then killed."""
        pids = [self.process.pid, *descendants(self.process.pid)]
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        for pid in reversed(pids):
            os.kill(pid, signal.SIGKILL)
        self.end()


def descendants(pid: int) -> list[int]:
    """Children of a process and theirs."""
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[1]) == pid:
                found += [int(entry.name), *descendants(int(entry.name))]
    return found


def is_alive(pid: int) -> bool:
    """Whether a process runs (a zombie does not)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False


def python(script: str) -> tuple[str, ...]:
    """A command that runs a piece of Python."""
    return (sys.executable, "-u", "-c", script)
