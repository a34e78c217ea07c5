"""What a person sees while a sandbox is made: one line per step, on standard error, with what it took.

On a terminal the line of the running step is rewritten in place; elsewhere (a CI log) a step says when it
begins, once a minute that it goes on, and when it ends. Nothing here decides anything.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from tonnage.figures import duration

_WIDTH = 80


class Show:
    """Lines about steps; silent when told so."""

    def __init__(self, *, is_quiet: bool = False, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._is_quiet = is_quiet
        self._is_terminal = self._stream.isatty()
        self._lock = threading.Lock()
        self._last = time.monotonic()

    def line(self, text: str = "") -> None:
        """Write a line as it is."""
        if not self._is_quiet:
            with self._lock:
                self._write(f"{text}\n")

    def step(self, subject: str, outcome: str) -> None:
        """One finished step: what, how it ended, and how long since the step before."""
        took = time.monotonic() - self._last
        self._last = time.monotonic()
        self.line(in_columns(subject, outcome, duration(took)))

    @contextmanager
    def running(
        self, subject: str, doing: str, usual_seconds: int = 0, *, is_brief: bool = False
    ) -> Iterator[Progress]:
        """A step that takes a while: a line that lives until it ends. A brief one is left out of a log."""
        progress = Progress(doing)
        began = time.monotonic()
        usual = f", usually {duration(usual_seconds)}" if usual_seconds else ""
        ended = threading.Event()
        ticker = threading.Thread(
            target=self._tick, args=(subject, progress, began, usual, ended), daemon=True
        )
        if not self._is_quiet:
            if not self._is_terminal and not is_brief:
                self.line(in_columns(subject, f"{doing}{usual}", ""))
            ticker.start()
        try:
            yield progress
        finally:
            ended.set()
            if ticker.is_alive():
                ticker.join()
            if not is_brief:
                self._last = began

    def _tick(
        self, subject: str, progress: Progress, began: float, usual: str, ended: threading.Event
    ) -> None:
        minutes = 0
        while not ended.wait(0.5):
            took = time.monotonic() - began
            if self._is_terminal:
                now = in_columns(subject, f"{progress.text}{usual}", duration(took))
                with self._lock:
                    self._write(f"\r\033[K{now[: _WIDTH - 1]}")
            elif took // 60 > minutes:
                minutes = int(took // 60)
                self.line(in_columns(subject, f"still {progress.text}{usual}", duration(took)))
        if self._is_terminal:
            with self._lock:
                self._write("\r\033[K")

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()


class Progress:
    """What a running step is at; set `text` as it moves on."""

    def __init__(self, text: str) -> None:
        self.text = text


QUIET = Show(is_quiet=True)


def in_columns(subject: str, outcome: str, right: str) -> str:
    """Subject, outcome, and a time at the right edge of 80 columns where there is room."""
    # Two tabs: short subjects of steps, long names of components with their versions.
    left = f"  {subject:<{13 if len(subject) <= 13 else 31}} {outcome}"
    return f"{left:<{_WIDTH - 12}} {right:>11}" if right else left
