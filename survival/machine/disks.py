"""A disk that can be filled: a small file system in memory, mounted where the checkpoints go."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SIZE = 512 * 1024
_FILLER = "filler"
_MNT_DETACH = 2


@contextmanager
def small_disk(folder: Path, size: int = SIZE) -> Iterator[None]:
    """Mount it, and take it away again; OSError where this user may not mount."""
    folder.mkdir(parents=True, exist_ok=True)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"tonnage-survival", os.fsencode(folder), b"tmpfs", 0, f"size={size}".encode()) != 0:
        raise OSError(ctypes.get_errno(), f"{folder} cannot be mounted")
    try:
        yield
    finally:
        libc.umount2(os.fsencode(folder), _MNT_DETACH)


def fill(folder: Path) -> None:
    """Take every byte that is left."""
    with (folder / _FILLER).open("ab", buffering=0) as file:
        size = 65536
        while size:
            try:
                file.write(b"x" * size)
            except OSError:
                size //= 2


def free(folder: Path) -> None:
    (folder / _FILLER).unlink(missing_ok=True)
