"""The time of day, read once: from then on a clock that only goes forward is added to it.

Somebody sets the wall clock (NTP after a boot, a person, a virtual machine that was paused) while a training runs.
Deadlines and budgets are durations, and every duration here is a difference of two moments; where the clock jumps by
an hour between them, a healthy run would be ended, or a dead one kept. So a process keeps the time it began with. What
it writes down is then off by the jump as long as it lives; whoever reads it compares it with what it says is now.
"""

from __future__ import annotations

import time
from collections.abc import Callable


class SteadyClock:
    """Seconds since 1970 as of its making, never going back, never jumping."""

    def __init__(
        self, wall: Callable[[], float] = time.time, elapsed: Callable[[], float] = time.monotonic
    ) -> None:
        self._elapsed = elapsed
        self._zero = wall() - elapsed()

    def now(self) -> float:
        return self._zero + self._elapsed()
