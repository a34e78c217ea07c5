"""The socket on which the SDK tells steps, phases and checkpoints: UNIX datagrams, one JSON object each.

Datagrams, so that a training step never waits for the agent: what does not fit in the queue is lost, and the next one
tells more anyway. The kernel says which process sent each, so a rank is known even when the script does not tell.
What is torn, too large or no object is counted and passed over.
"""

from __future__ import annotations

import json
import os
import socket
import struct
import tempfile
from contextlib import suppress
from typing import Any

EVENT_BYTES = 8192
_PATH_BYTES = 107
_NAME = "agent.sock"
_CREDENTIALS = struct.Struct("3i")


class Ear:
    """The listening end."""

    def __init__(self, path: str = "") -> None:
        """Raises OSError where no socket can be made."""
        self._folder = "" if path else _folder()
        self.path = path or f"{self._folder}/{_NAME}"
        self.refused = 0
        if len(os.fsencode(self.path)) > _PATH_BYTES:
            raise OSError(f"the socket's path is longer than {_PATH_BYTES} bytes: {self.path}")
        with suppress(FileNotFoundError):
            os.unlink(self.path)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.setblocking(False)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self._socket.bind(self.path)
        os.chmod(self.path, 0o666)

    def fileno(self) -> int:
        return self._socket.fileno()

    def hear(self, most: int = 1000) -> list[dict[str, Any]]:
        """All events that are there, oldest first, with the sender's `pid`."""
        events = []
        for _ in range(most):
            try:
                data, notes, flags, _ = self._socket.recvmsg(EVENT_BYTES, 64)
            except (BlockingIOError, InterruptedError):
                break
            event = None if flags & socket.MSG_TRUNC else _event(data)
            if event is None:
                self.refused += 1
                continue
            pid = _sender(notes)
            if pid:
                event["pid"] = pid
            events.append(event)
        return events

    def close(self) -> None:
        self._socket.close()
        with suppress(OSError):
            os.unlink(self.path)
        if self._folder:
            with suppress(OSError):
                os.rmdir(self._folder)


def _folder() -> str:
    """A new folder, with a path short enough for a socket in it."""
    usual = tempfile.gettempdir()
    is_short = len(os.fsencode(usual)) + len("/tonnage-12345678/" + _NAME) <= _PATH_BYTES
    return tempfile.mkdtemp(prefix="tonnage-", dir=usual if is_short else "/tmp")


def _event(data: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and isinstance(value.get("event"), str) else None


def _sender(notes: list[tuple[int, int, bytes]]) -> int:
    for level, kind, data in notes:
        if level == socket.SOL_SOCKET and kind == socket.SCM_CREDENTIALS and len(data) >= _CREDENTIALS.size:
            return int(_CREDENTIALS.unpack_from(data)[0])
    return 0
