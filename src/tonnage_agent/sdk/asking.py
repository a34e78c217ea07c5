"""Who may ask a script to save or to stop: a signal, the agent's control file, the probe, the deadline.

A signal handler only remembers; nothing is ever saved inside one. The script acts at its next step boundary. The
handler stands only while there are steps: before and after, SIGTERM ends the process at once, as it always did.
"""

from __future__ import annotations

import json
import os
import signal
import threading
from pathlib import Path
from types import FrameType
from typing import Any

from tonnage_agent.keeper.clock import Clock

_LOOK_SECONDS = 0.05


class Signals:
    """SIGTERM, remembered with its time."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._previous: Any = None
        self._depth = 0
        self._is_alone = False
        self._owner = os.getpid()
        self.received_at: float | None = None

    def listen(self, *, alone: bool = False) -> None:
        """Take SIGTERM over; only the main thread can, elsewhere nothing happens.

        Whoever listened before hears it too, unless we listen `alone`.
        """
        if threading.current_thread() is not threading.main_thread():
            return
        self._depth += 1
        if self._depth == 1:
            self._is_alone = alone
            self._previous = signal.signal(signal.SIGTERM, self._received)

    @property
    def is_listening(self) -> bool:
        return self._depth > 0

    def leave(self) -> None:
        """Give SIGTERM back to who had it."""
        if self._depth and threading.current_thread() is threading.main_thread():
            self._depth -= 1
            if self._depth == 0:
                previous = self._previous if self._previous is not None else signal.SIG_DFL
                signal.signal(signal.SIGTERM, previous)

    def _received(self, number: int, frame: FrameType | None) -> None:
        if os.getpid() != self._owner:  # a forked worker (of a data loader, say) is not ours to keep alive
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGTERM)
            return
        if self.received_at is None:
            self.received_at = self._clock.elapsed()
        if callable(self._previous) and not self._is_alone:
            self._previous(number, frame)


class Control:
    """The agent's file: one `stat` a look, not more than twenty looks a second, read only when it was replaced."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._not_before = 0.0
        self._seen: tuple[int, int, int] | None = None
        self._saves_done = 0
        self._saves = 0
        self.stop = ""

    def look(self, now: float) -> None:
        """Read it again if it has changed."""
        if not self._path or now < self._not_before:
            return
        self._not_before = now + _LOOK_SECONDS
        try:
            stat = os.stat(self._path)
            seen = (stat.st_mtime_ns, stat.st_ino, stat.st_size)
            if seen == self._seen:
                return
            values = json.loads(Path(self._path).read_text(encoding="utf-8"))
            self._seen = seen
        except (OSError, ValueError):
            return  # absent, or not there yet: nothing asked
        if isinstance(values, dict):
            self._saves = values["save"] if isinstance(values.get("save"), int) else self._saves
            self.stop = values["stop"] if isinstance(values.get("stop"), str) else ""

    @property
    def wants_save(self) -> bool:
        return self._saves > self._saves_done

    def saved(self) -> None:
        self._saves_done = self._saves
