"""One supervisor per run: the kernel keeps the lock, and lets go of it the instant its holder dies.

Whether somebody holds it can only be found out by trying, so whoever asks holds it for an instant. A supervisor that
met such an instant must not take it for another supervisor: it tries for a moment before it believes so.
"""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

PATIENCE = 1.0
"""Seconds in which whoever only asks has let go again, also on a busy machine."""


class RunLock:
    """The lock of one run, held until the process ends."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None

    def take(self, patience: float = PATIENCE) -> bool:
        """Take it; False where somebody else holds it."""
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        give_up = time.monotonic() + patience
        while not _locked(descriptor, fcntl.LOCK_EX):
            if time.monotonic() >= give_up:
                os.close(descriptor)
                return False
            time.sleep(0.01)
        os.truncate(descriptor, 0)
        os.write(descriptor, str(os.getpid()).encode())
        self._descriptor = descriptor
        return True

    def release(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def holder_of(path: Path) -> int | None:
    """The pid of whoever holds the lock; None where nobody does."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        text = os.read(descriptor, 32).decode().strip()
        if _locked(descriptor, fcntl.LOCK_SH):  # let go of when it is closed
            return None
        return int(text) if text.isdecimal() else -1
    finally:
        os.close(descriptor)


def _locked(descriptor: int, how: int) -> bool:
    try:
        fcntl.flock(descriptor, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
