"""A bucket as the place of record, by the keeper's own client.

Every request costs money and time: the record is put at most every few seconds unless it is urgent, and the samples,
which cannot be appended to in a bucket, are kept here in short and put as a whole once a minute and at the end. The
last seconds before a death are in the termination message.
"""

from __future__ import annotations

import time

from tonnage_agent.blackbox.samples import thinned
from tonnage_agent.keeper.failing import KeeperError
from tonnage_agent.keeper.s3.client import open_client

SAMPLES_SECONDS = 60.0
SAMPLES_BYTES = 1 << 20


class Bucket:
    """One prefix of a bucket."""

    seconds_between = 15.0

    def __init__(self, place: str) -> None:
        """Nothing is contacted yet; raises ValueError for what is no bucket."""
        self.name = place
        try:
            self._client = open_client(place)
        except KeeperError as error:
            raise ValueError(str(error)) from None
        self._appended: dict[str, bytes] = {}
        self._put_at = time.monotonic()

    def replace(self, name: str, content: bytes, durable: bool) -> None:
        del durable  # what was put is kept
        self._put(name, content)

    def append(self, name: str, content: bytes) -> int:
        whole = self._appended.get(name, b"") + content
        self._appended[name] = whole if len(whole) <= SAMPLES_BYTES else thinned(whole, SAMPLES_BYTES)
        if time.monotonic() - self._put_at >= SAMPLES_SECONDS:
            self.flush()
        return len(self._appended[name])

    def flush(self) -> None:
        self._put_at = time.monotonic()
        for name, content in self._appended.items():
            self._put(name, content)

    def _put(self, name: str, content: bytes) -> None:
        try:
            self._client.put(name, content)
        except KeeperError as error:
            raise OSError(str(error)) from None
