"""One thread that writes to storage, so that storage which hangs never holds the command.

The loop hands over the newest record and the samples; what is not written yet when a newer record comes is not
written at all. Samples wait in a queue that has an end. A place that fails is tried again with every record, and why
it failed is in `problem` (and so in the termination message).
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable

from tonnage_agent.blackbox.places import Place
from tonnage_agent.blackbox.samples import Samples
from tonnage_agent.contract import RECORD_FILE, SAMPLES_FILE

DURABLE_SECONDS = 30.0
"""A crash of the whole node loses at most this much of the record."""


class Writer:
    """The thread and what it was handed."""

    def __init__(self, place: Place, between: Callable[[], object] = lambda: None) -> None:
        """`between` is called after each write, for other work that storage may hold up."""
        self.problem = ""
        self._place, self._between = place, between
        self._samples = Samples(place, SAMPLES_FILE)
        self._waiting: deque[str] = deque(maxlen=3600)
        self._record: bytes | None = None
        self._urgent = self._closing = False
        self._synced_at = -DURABLE_SECONDS
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def hand_over(self, record: bytes, sample: str = "", *, urgent: bool = False) -> None:
        """The newest record; `urgent` where it tells more than one more second."""
        with self._changed:
            self._record = record
            self._urgent |= urgent
            if sample:
                self._waiting.append(sample)
            self._changed.notify()

    def close(self, seconds: float) -> bool:
        """Write what is left; False when storage did not answer in time."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _work(self) -> None:
        written_at = -self._place.seconds_between
        while True:
            with self._changed:
                while self._record is None and not self._closing:
                    self._changed.wait()
                pause = written_at + self._place.seconds_between - time.monotonic()
                while pause > 0 and not (self._urgent or self._closing):
                    self._changed.wait(pause)
                    pause = written_at + self._place.seconds_between - time.monotonic()
                record, self._record = self._record, None
                urgent, self._urgent = self._urgent or self._closing, False
                samples, last = list(self._waiting), self._closing
                self._waiting.clear()
            written_at = time.monotonic()
            self._write(record, samples, urgent, last)
            if last:
                return
            self._between()

    def _write(self, record: bytes | None, samples: list[str], urgent: bool, last: bool) -> None:
        now = time.monotonic()
        durable = urgent or now - self._synced_at >= DURABLE_SECONDS
        try:
            if record is not None:
                self._place.replace(RECORD_FILE, record, durable)
                self._synced_at = now if durable else self._synced_at
            if samples:
                self._samples.append(samples)
            if last:
                self._place.flush()
            self.problem = ""
        except OSError as error:
            self.problem = f"record in {self._place.name}: {error.strerror or error}"
