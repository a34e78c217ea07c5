"""Time as an argument: the wall clock for what is written down, a clock that only goes forward for durations."""

from __future__ import annotations

import time
from typing import Protocol

from tonnage_agent.steady import SteadyClock


class Clock(Protocol):
    """Two ways to ask the time, both in seconds."""

    def now(self) -> float:
        """Since 1970."""

    def elapsed(self) -> float:
        """Since some moment; never goes back."""


class SystemClock:
    """The machine's; as the time of day was when this was made, however it is set later."""

    def __init__(self) -> None:
        self._steady = SteadyClock()

    def now(self) -> float:
        return self._steady.now()

    def elapsed(self) -> float:
        return time.monotonic()
