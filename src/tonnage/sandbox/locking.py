"""Locks between processes, held on folders: they leave no file, and a killed holder lets go by itself."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the folder (made if need be) while inside; wait for whoever holds it now."""
    while True:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except FileNotFoundError:
            continue  # removed between making and opening it
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            # Whoever held it may have removed it; then a namesake counts, and we hold a ghost.
            if folder.exists() and os.path.samestat(folder.stat(), os.fstat(descriptor)):
                yield
                return
        finally:
            os.close(descriptor)


@contextmanager
def try_locked(folder: Path) -> Iterator[bool]:
    """Hold the folder while inside if nobody else does; say whether that is so."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            held = True
        except BlockingIOError:
            held = False
        yield held
    finally:
        os.close(descriptor)
