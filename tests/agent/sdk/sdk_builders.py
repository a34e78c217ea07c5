"""Runs for tests: a clock that is told, lines that are remembered, and the agent's end of the socket."""

from __future__ import annotations

import json
import socket
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tonnage_agent import sdk


@dataclass
class ManualClock:
    """Time that passes when told to."""

    wall: float = 1_700_000_000.0
    passed: float = 0.0

    def now(self) -> float:
        return self.wall + self.passed

    def elapsed(self) -> float:
        return self.passed


@dataclass
class Script:
    """A run with everything around it in a test's hands."""

    run: sdk.Run
    clock: ManualClock
    lines: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


def a_script(place: Path | str = "", environment: dict[str, str] | None = None, **options: Any) -> Script:
    """A training script that has attached itself."""
    clock, lines = ManualClock(), []
    run = sdk.attach(
        checkpoints=place, environment=environment or {}, clock=clock, say=lines.append, **options
    )
    return Script(run, clock, lines)


class Agent:
    """The receiving end of the contract's socket."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(str(path))
        self._socket.setblocking(False)

    def heard(self) -> list[dict[str, Any]]:
        """Events since the last look."""
        events = []
        while True:
            try:
                events.append(json.loads(self._socket.recv(65536)))
            except BlockingIOError:
                return events

    def close(self) -> None:
        self._socket.close()
