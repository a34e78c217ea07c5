"""Files out of a bucket: ranges, four at a time, each tried again by itself; four MiB of memory."""

from __future__ import annotations

import http.client
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tonnage_agent.keeper.failing import PlaceError, TornCheckpoint
from tonnage_agent.keeper.s3.sending import Sender

RANGE = 64 * 1024 * 1024
_PIECE = 1 << 20
_AT_ONCE = 4


def download(sender: Sender, key: str, path: Path, size: int) -> None:
    """Write the object's first `size` bytes to the path; FileNotFoundError or TornCheckpoint where there are none."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)

    def fetch(start: int) -> None:
        end = min(start + RANGE, size)

        def take(response: http.client.HTTPResponse) -> None:
            """Straight to its place in the file, a small piece at a time."""
            if response.status != 206:
                raise PlaceError(f"{key} could not be read: the server does not know ranges")
            if response.length is not None and response.length != end - start:
                raise TornCheckpoint(f"{key.rpartition('/')[2]} has fewer than {size} bytes in the bucket")
            at, buffer = start, memoryview(bytearray(_PIECE))
            while count := response.readinto(buffer):
                os.pwrite(descriptor, buffer[:count], at)
                at += count
            if at != end:
                raise http.client.IncompleteRead(b"", end - at)

        answer = sender.send("GET", key, headers={"Range": f"bytes={start}-{end - 1}"}, take=take)
        if answer.status in (404, 416):
            raise FileNotFoundError(f"{key}: {answer.code or answer.status}")
        if not answer.is_fine:
            raise PlaceError(f"{key} could not be read: {answer.status} {answer.code} {answer.message}")

    try:
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            list(pool.map(fetch, range(0, size, RANGE)))
    finally:
        os.close(descriptor)
