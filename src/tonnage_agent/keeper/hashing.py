"""SHA-256 of files, several at once: hashing lets go of the interpreter's lock, so threads use real cores.

`from_disk` reads what the disk holds, not what memory remembers: pages already written are dropped first. That is
the difference between "we wrote it" and "it is there".
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Callable, TypeVar

from tonnage_agent.keeper.failing import TornCheckpoint, unreadable
from tonnage_agent.keeper.manifest import FileEntry

_CHUNK = 1 << 20
_THREADS = 4
Item = TypeVar("Item")
Result = TypeVar("Result")


def hash_file(path: Path, *, from_disk: bool = False) -> tuple[int, str]:
    """Size and SHA-256."""
    digest, size, buffer = hashlib.sha256(), 0, bytearray(_CHUNK)
    view = memoryview(buffer)
    with path.open("rb", buffering=0) as file:
        if from_disk and hasattr(os, "posix_fadvise"):
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        while count := file.readinto(view):
            digest.update(view[:count])
            size += count
    return size, digest.hexdigest()


def hash_files(root: Path, paths: Iterable[str], *, from_disk: bool = False) -> list[FileEntry]:
    """An entry for each path below the root, in the order given."""

    def entry(path: str) -> FileEntry:
        return FileEntry(path, *hash_file(root / path, from_disk=from_disk))

    return _each(entry, list(paths))


def check_files(
    root: Path, files: Iterable[FileEntry], *, from_disk: bool = False, sizes_only: bool = False
) -> None:
    """Every file is there with its size and hash, or the checkpoint is torn."""

    def check(expected: FileEntry) -> None:
        path = root / expected.path
        try:
            found = path.stat().st_size
            if found != expected.size:
                raise TornCheckpoint(f"{expected.path} has {found} bytes of {expected.size}")
            if not sizes_only and hash_file(path, from_disk=from_disk) != (expected.size, expected.sha256):
                raise TornCheckpoint(f"{expected.path} has another content than was written")
        except FileNotFoundError as error:
            raise TornCheckpoint(f"{expected.path} is missing") from error
        except (NotADirectoryError, IsADirectoryError) as error:
            raise TornCheckpoint(f"{expected.path} is not a file") from error
        except OSError as error:
            raise unreadable(path, error) from error

    _each(check, list(files))


def _each(do: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """All results in order; threads only where there is more than one thing to do."""
    if len(items) < 2:
        return [do(item) for item in items]
    with ThreadPoolExecutor(min(_THREADS, len(items))) as pool:
        return list(pool.map(do, items))
