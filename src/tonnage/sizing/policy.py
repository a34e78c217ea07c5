"""What a sizing policy is: something that is told what happened, in order, and asked for the next limit.

A `Sizer` looks after one signature. It is told of starts, of attempts that died at their limit, and of ends with their
peak, each at the moment it becomes known and never earlier: a policy that is only ever handed the past cannot look
into the future by mistake. Whatever a policy learns across
signatures begins anew with `open`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol


class Sizer(Protocol):
    """One signature's limits, from what is known of it so far. `run` numbers its instances in order of start."""

    def limit(self, now: float, requested: float) -> float:
        """Bytes for the first attempt of an instance that starts now."""

    def bump(self, failed: float, requested: float) -> float:
        """Bytes for the next attempt of an instance that just died at `failed`."""

    def started(self, run: int, now: float) -> None:
        """An instance starts now."""

    def failed(self, run: int, now: float, limit: float, seconds: float) -> None:
        """An attempt died at its limit after so many seconds; the instance tries again."""

    def ended(self, run: int, now: float, peak: float, seconds: float) -> None:
        """An instance ended, its last attempt having taken so long and used so much at most."""


class Policy(Protocol):
    """A way of sizing."""

    @property
    def name(self) -> str:
        """How it is called in tables and JSON."""

    def open(self) -> Callable[[], Sizer]:
        """Begin with nothing known: what comes back makes a sizer for each signature of one history."""
