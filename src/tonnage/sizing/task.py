"""What the past says: one instance of repeated work, when it ran, what it had asked for and what it really used.

Sizing and its back-test know nothing else of a run. Instances of one *signature* (the same code, model, batch, world
size and role; for workflows, the same process) are draws from one distribution, or near enough to learn from; across
signatures only scale is learned. Times are seconds on any one clock, memory is bytes.
"""

from __future__ import annotations

from typing import NamedTuple

GIB_HOUR = 2**30 * 3600.0
"""Byte-seconds in a GiB-hour: what waste is counted in."""

FLOOR = 256 * 2**20
"""No policy asks for less: the interpreter and its libraries alone need this much."""


class Task(NamedTuple):
    """One instance of a signature that ran to its end."""

    signature: str
    start: float
    end: float
    requested: float
    peak: float

    @property
    def seconds(self) -> float:
        return self.end - self.start
