"""Where the record and the samples are kept: a folder (a volume, usually), or a bucket.

A record is replaced in one move, so that a reader finds a whole one at any instant. A checkpoint that fills the disk
is a cause of death worth recording: the folder holds a reserve that is given back when there is no space, and the
record takes its place.
"""

from __future__ import annotations

import errno
import os
import tempfile
from contextlib import suppress
from typing import Protocol

RESERVE_BYTES = 1 << 17
_RESERVE = ".reserve"
_FULL = (errno.ENOSPC, errno.EDQUOT)


class Place(Protocol):
    """What a black box needs of a place; calls raise OSError."""

    name: str
    seconds_between: float
    """How often a record may be written without being a burden."""

    def replace(self, name: str, content: bytes, durable: bool) -> None:
        """Put a whole file in place of the old one; `durable`: it must survive the node's crash too."""

    def append(self, name: str, content: bytes) -> int:
        """Add to the end of a file; its size then."""

    def flush(self) -> None:
        """It was the last: put what is still held back."""


class Folder:
    """A folder on a file system."""

    seconds_between = 1.0

    def __init__(self, path: str) -> None:
        self.name = path
        os.makedirs(path, exist_ok=True)
        self._set_aside()

    def replace(self, name: str, content: bytes, durable: bool) -> None:
        try:
            self._replace(name, content, durable)
        except OSError as error:
            if error.errno not in _FULL or not self._give_back():
                raise
            self._replace(name, content, durable)

    def append(self, name: str, content: bytes) -> int:
        handle = os.open(f"{self.name}/{name}", os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
        try:
            written = os.write(handle, content)
            if written < len(content):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return os.fstat(handle).st_size
        finally:
            os.close(handle)

    def flush(self) -> None:
        """Nothing is held back."""

    def read(self, name: str) -> bytes:
        """A file's content; empty where there is none."""
        try:
            with open(f"{self.name}/{name}", "rb") as file:
                return file.read()
        except FileNotFoundError:
            return b""

    def _replace(self, name: str, content: bytes, durable: bool) -> None:
        part = f"{self.name}/.{name}.part"
        try:
            handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666)
            try:
                view = memoryview(content)
                while view:
                    view = view[os.write(handle, view) :]
                if durable:
                    os.fsync(handle)
            finally:
                os.close(handle)
            os.replace(part, f"{self.name}/{name}")
        except OSError:
            with suppress(OSError):
                os.unlink(part)
            raise
        if durable:
            self._sync_folder()

    def _sync_folder(self) -> None:
        with suppress(OSError):  # some network file systems cannot
            handle = os.open(self.name, os.O_RDONLY | os.O_CLOEXEC)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)

    def _set_aside(self) -> None:
        with suppress(OSError):
            handle = os.open(f"{self.name}/{_RESERVE}", os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o666)
            try:
                os.write(handle, bytes(RESERVE_BYTES))
            finally:
                os.close(handle)

    def _give_back(self) -> bool:
        try:
            os.unlink(f"{self.name}/{_RESERVE}")
        except OSError:
            return False
        return True


def open_place(record: str, folder: str) -> tuple[Place | None, str]:
    """The place of record, and what to say where it is not the one asked for."""
    if not record:
        return None, ""
    if record.startswith("s3://"):
        return _bucket(record.rstrip("/") + "/" + folder)
    try:
        return Folder(os.path.join(record, folder)), ""
    except OSError as error:
        return _kept_here(f"{record}: {error.strerror}")


def _bucket(place: str) -> tuple[Place | None, str]:
    try:
        from tonnage_agent.blackbox.bucket import Bucket
    except ImportError as error:
        return _kept_here(f"{place}: no S3 client here ({error})")
    try:
        return Bucket(place), ""
    except (OSError, ValueError) as error:
        return _kept_here(f"{place}: {error}")


def _kept_here(why: str) -> tuple[Place | None, str]:
    """A folder of this machine instead; better than nothing, and said."""
    try:
        folder = Folder(tempfile.mkdtemp(prefix="tonnage-record-"))
    except OSError:
        return None, f"no record is kept: {why}"
    return folder, f"the record is kept in {folder.name} of this container only: {why}"
