"""Signals as bytes in a pipe, so that one loop waits for signals, events and time alike.

A signal that was ignored when the agent started (nohup, a background job of a shell) stays ignored, for the command
too. All others that a supervisor may send are caught here and forwarded.
"""

from __future__ import annotations

import os
import signal
from contextlib import suppress

FORWARDED = (
    signal.SIGTERM,
    signal.SIGINT,
    signal.SIGHUP,
    signal.SIGQUIT,
    signal.SIGUSR1,
    signal.SIGUSR2,
    signal.SIGWINCH,
    signal.SIGCONT,
)
ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT, signal.SIGHUP)
"""What ends an agent that has no command to forward to."""


class Signals:
    """Caught from now on; `taken` tells which came."""

    def __init__(self) -> None:
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._reader, False)
        os.set_blocking(self._writer, False)
        signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
        for number in (*FORWARDED, signal.SIGCHLD):
            if signal.getsignal(number) != signal.SIG_IGN or number == signal.SIGCHLD:
                signal.signal(number, _noticed)

    def fileno(self) -> int:
        return self._reader

    def taken(self) -> list[int]:
        """Numbers of the signals that came since the last call, in order."""
        try:
            return list(os.read(self._reader, 4096))
        except (BlockingIOError, InterruptedError):
            return []

    def wake(self) -> None:
        """Make the loop look, from any thread."""
        with suppress(OSError):
            os.write(self._writer, b"\0")


def _noticed(_number: int, _frame: object) -> None:
    """The byte in the pipe is all that is needed."""
