"""A step as two timelines: the host asks, the device works off, each in order.

The device starts a kernel when it is free and has been asked; the host runs ahead until it has to wait for a value
or the driver's queue is full. So a stretch of small kernels takes as long as asking for them, a stretch of large
ones as long as doing them, and both come out right in one step. Collectives have a queue of their own: they start
when what was asked before them is done, and the work behind the next one waits for them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

import msgspec

QUEUE_LENGTH = 1024
"""Launches the driver takes before the host must wait."""


class Asked(msgspec.Struct, frozen=True):
    """One call: seconds of the host, seconds of the device, and how they hang together."""

    host: float
    device: float
    kernels: float = 1.0
    waits: bool = False
    is_collective: bool = False
    trailing: float = 0.0
    """Of the host's seconds, those spent on further kernels after the first is on its way."""
    joins: bool = False
    """Everything that collectives still have to do must be done before this."""


class Timelines(msgspec.Struct):
    """Where host and device stand, in seconds since the step began."""

    gap: float
    host: float = 0.0
    device: float = 0.0
    links: float = 0.0
    busy: float = 0.0
    exposed: float = 0.0
    """Seconds the device waited for collectives."""
    _pending: deque[float] = msgspec.field(default_factory=deque)
    _queued: deque[float] = msgspec.field(default_factory=deque)

    def ask(self, call: Asked) -> None:
        """Play one call."""
        self.host += call.host
        if call.joins:
            self._join(0)
        if call.is_collective:
            self._collect(call)
        elif call.device > 0.0:
            self._launch(call)
        if call.waits:
            self.host = max(self.host, self.device)

    def _launch(self, call: Asked) -> None:
        if len(self._queued) >= QUEUE_LENGTH:
            self.host = max(self.host, self._queued.popleft())
        start = max(self.host - call.trailing, self.device + self.gap)
        done = start + call.device + self.gap * max(0.0, call.kernels - 1.0)
        self.device = max(done, self.host)  # its last kernel cannot begin before it is asked for
        self.busy += call.device
        self._queued.append(self.device)

    def _collect(self, call: Asked) -> None:
        self._join(1)
        start = max(self.links, self.device, self.host)
        self.links = start + call.device
        self._pending.append(self.links)

    def _join(self, keep: int) -> None:
        """The device waits for all collectives but the last few."""
        while len(self._pending) > keep:
            until = self._pending.popleft()
            if until > self.device:
                self.exposed += until - self.device
                self.device = until

    @property
    def end(self) -> float:
        """When everything is done and the host knows it."""
        return max(self.host, self.device, self.links)


def play(calls: Iterable[Asked], gap: float) -> Timelines:
    """Both timelines after a step."""
    lines = Timelines(gap)
    for call in calls:
        lines.ask(call)
    return lines
