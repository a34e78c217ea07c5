"""Lines the command prints, read for steps, phases and ranks that failed.

Called by the threads that pass the output on, so it must be quick and must not fail: a line costs microseconds, and
what was found waits in a queue with an end until the loop comes for it.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import Any

from tonnage_agent.hearing.phases import phase_of
from tonnage_agent.hearing.ranks import RankReader
from tonnage_agent.hearing.steps import StepReader

_LONGEST = 1000
"""Characters of a line that are read; patterns of users may be slow on long ones."""


class LogReader:
    """Both streams of a command; `taken` gives what was found since."""

    def __init__(self, pattern: str = "", wake: Callable[[], object] = lambda: None) -> None:
        """`wake` is called when something was found that should not wait."""
        self._steps, self._ranks = StepReader(pattern), RankReader()
        self._events: deque[dict[str, Any]] = deque(maxlen=1000)
        self._phase, self._wake = "", wake

    @property
    def first_rank(self) -> int | None:
        return self._ranks.first

    def read(self, line: str) -> None:
        """Take in one line."""
        line = line[:_LONGEST]
        self._ranks.read(line)
        event = self._steps.read(line)
        if event is not None:
            self._begin("step")
            self._events.append({**event, "when": time.time()})
            return
        phase = phase_of(line)
        if phase:
            self._begin(phase)

    def taken(self) -> list[dict[str, Any]]:
        """Events found since the last call, oldest first."""
        events = []
        while self._events:
            events.append(self._events.popleft())
        return events

    def _begin(self, phase: str) -> None:
        if phase != self._phase:
            self._phase = phase
            self._events.append({"event": "phase", "name": phase, "state": "begin", "when": time.time()})
            self._wake()
