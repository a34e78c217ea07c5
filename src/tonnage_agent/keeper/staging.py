"""Folders of this machine that a bucket needs: where a checkpoint lies before it is sent and after it was fetched.

Each belongs to a process by a lock the kernel gives back when the process dies, however it dies; folders without an
owner are removed by whoever comes next. A process can die between making its folder and locking it, so making one is
done under a lock of the root: while nobody holds that, a folder without a lock has no owner.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_LOCK = ".lock"
_MAKING = ".making"


class Staging:
    """The staging folders of one place."""

    def __init__(self, url: str, root: Path | None = None) -> None:
        marked = hashlib.sha256(url.encode()).hexdigest()[:12]
        self.root = (root or Path(tempfile.gettempdir()) / f"tonnage-{os.getuid()}") / marked
        self._held: dict[Path, int] = {}

    def make(self) -> Path:
        """A new folder of our own; its parent holds the lock, so that the folder itself stays clean."""
        self.root.mkdir(parents=True, exist_ok=True, mode=0o700)
        home = self.root / f"save-{uuid.uuid4().hex[:12]}"
        making = _open_locked(self.root / _MAKING, fcntl.LOCK_SH)
        try:
            home.mkdir(mode=0o700)
            self._held[home] = _open_locked(home / _LOCK)
        finally:
            os.close(making)
        folder = home / "files"
        folder.mkdir()
        return folder

    def drop(self, folder: Path) -> None:
        """Remove a folder that `make` gave."""
        home = folder.parent
        shutil.rmtree(home, ignore_errors=True)
        descriptor = self._held.pop(home, None)
        if descriptor is not None:
            os.close(descriptor)

    @contextmanager
    def fetching(self, name: str) -> Iterator[Path]:
        """The one folder for this checkpoint's files on this machine, while no other process works on it."""
        self.root.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = _open_locked(self.root / f"fetched-{name}.lock")
        try:
            folder = self.root / f"fetched-{name}"
            folder.mkdir(exist_ok=True)
            yield folder
        finally:
            os.close(descriptor)

    def drop_fetched(self, keep: str = "") -> None:
        """Remove fetched checkpoints, but one."""
        for folder in self.root.glob("fetched-*"):
            if folder.is_dir() and folder.name != f"fetched-{keep}":
                shutil.rmtree(folder, ignore_errors=True)

    def sweep(self) -> None:
        """Remove folders whose owners are gone."""
        for home in self.root.glob("save-*"):
            if home not in self._held and self._is_abandoned(home):
                shutil.rmtree(home, ignore_errors=True)

    def _is_abandoned(self, home: Path) -> bool:
        if (home / _LOCK).exists():
            return _is_free(home / _LOCK)
        return _is_free(self.root / _MAKING) and not (home / _LOCK).exists()


def _open_locked(path: Path, how: int = fcntl.LOCK_EX) -> int:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    fcntl.flock(descriptor, how)
    return descriptor


def _is_free(lock: Path) -> bool:
    """Whether nobody holds a lock; False where it cannot be asked."""
    try:
        descriptor = os.open(lock, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True
