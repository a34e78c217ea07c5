"""Time as an argument: the wall clock for what is written down, a clock that only goes forward for durations."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Two ways to ask the time, both in seconds."""

    def now(self) -> float:
        """Since 1970."""

    def elapsed(self) -> float:
        """Since some moment; never goes back."""


class SystemClock:
    """The machine's."""

    def now(self) -> float:
        return time.time()

    def elapsed(self) -> float:
        return time.monotonic()
