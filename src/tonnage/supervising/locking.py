"""One supervisor per run: the kernel keeps the lock, and lets go of it the instant its holder dies."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path


class RunLock:
    """The lock of one run, held until the process ends."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None

    def take(self) -> bool:
        """Take it; False where somebody else holds it."""
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return False
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
    lock = RunLock(path)
    try:
        text = path.read_text().strip()
    except OSError:
        return None
    if lock.take():
        lock.release()
        return None
    return int(text) if text.isdecimal() else -1
