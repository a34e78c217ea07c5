"""Files out of a bucket: ranges, four at a time, each tried again by itself."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tonnage_agent.keeper.failing import PlaceError
from tonnage_agent.keeper.s3.sending import Sender

RANGE = 16 * 1024 * 1024
_AT_ONCE = 4


def download(sender: Sender, key: str, path: Path, size: int) -> None:
    """Write the object's first `size` bytes to the path; FileNotFoundError where there is no such object."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)

    def fetch(start: int) -> None:
        end = min(start + RANGE, size) - 1
        answer = sender.send("GET", key, headers={"Range": f"bytes={start}-{end}"})
        if answer.status in (404, 416):
            raise FileNotFoundError(f"{key}: {answer.code or answer.status}")
        if not answer.is_fine:
            raise PlaceError(f"{key} could not be read: {answer.status} {answer.code} {answer.message}")
        content = answer.body if answer.status == 206 else answer.body[start : end + 1]
        os.pwrite(descriptor, content, start)

    try:
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            list(pool.map(fetch, range(0, size, RANGE)))
    finally:
        os.close(descriptor)
