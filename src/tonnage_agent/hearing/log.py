"""Lines the command prints, read for steps, phases and ranks that failed."""

from __future__ import annotations

import time
from collections import deque
from typing import Any


class LogReader:
    def __init__(self, pattern: str = "") -> None:
        self.first_rank: int | None = None
        self._events: deque[dict[str, Any]] = deque(maxlen=1000)

    def read(self, line: str) -> None:
        pass

    def taken(self) -> list[dict[str, Any]]:
        events = []
        while self._events:
            events.append(self._events.popleft())
        return events
