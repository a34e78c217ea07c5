"""Room on file systems: shared memory, the working folder, the folder of the checkpoints.

A full `/dev/shm` kills loader workers with SIGBUS, a full disk tears a checkpoint: both are seen coming here. Asking
a network file system may hang, so this is asked by the thread that writes to storage, never by the loop.
"""

from __future__ import annotations

import os
from dataclasses import dataclass


@dataclass(frozen=True)
class Room:
    """One file system."""

    path: str
    total_bytes: int
    used_bytes: int
    free_bytes: int
    """What an ordinary user may still write."""
    free_files: int | None = None
    """Inodes left; None where the file system has no such limit."""


def read_room(path: str) -> Room | None:
    """Room at a path, or at the nearest folder above it that exists."""
    place = path
    while True:
        try:
            stat = os.statvfs(place)
            break
        except FileNotFoundError:
            above = os.path.dirname(place.rstrip("/")) or "."
            if above in (place, "."):
                return None
            place = above
        except OSError:
            return None
    block = stat.f_frsize or stat.f_bsize
    return Room(
        path=path,
        total_bytes=stat.f_blocks * block,
        used_bytes=(stat.f_blocks - stat.f_bfree) * block,
        free_bytes=stat.f_bavail * block,
        free_files=stat.f_favail if stat.f_files else None,
    )
