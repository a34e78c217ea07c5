"""What two agents say to each other before a training: one JSON object a line, and a flow of bytes to measure.

hello    who I am (run, attempt, node); answered with who you are
ping     answered at once: the round trip
flow     frames of bytes follow, an empty one ends them; answered with bytes and seconds as the receiver saw them
tell     something for the other's board (ready, missing, rates, done); answered with nothing but yes
"""

from __future__ import annotations

import json
import socket
import struct
import time
from typing import Any

FLOW_BYTES = 64 << 20
FLOW_SECONDS = 1.0
WARM_BYTES = 8 << 20
WARM_SECONDS = 0.2
_FRAME_BYTES = 1 << 18
_LINE_BYTES = 1 << 16
_LENGTH = struct.Struct("!I")
_MEASURE = 0xFFFFFFFF
"""Instead of a length: from here on it is measured."""


class Line:
    """A connection, spoken over in lines."""

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection
        self._left = b""

    def say(self, message: dict[str, Any]) -> None:
        self.socket.sendall(json.dumps(message, separators=(",", ":")).encode() + b"\n")

    def hear(self) -> dict[str, Any] | None:
        """The next object; None at the end. Raises OSError, or ValueError where it is something else."""
        while b"\n" not in self._left:
            part = self.socket.recv(_LINE_BYTES)
            if not part:
                return None
            self._left += part
            if len(self._left) > _LINE_BYTES:
                raise ValueError("no line of ours")
        line, _, self._left = self._left.partition(b"\n")
        message = json.loads(line)
        if not isinstance(message, dict):
            raise ValueError("no object")  # noqa: TRY004 - whoever speaks otherwise is no agent
        return message

    def ask(self, message: dict[str, Any]) -> dict[str, Any]:
        """Say and hear; an end in between is an error."""
        self.say(message)
        answer = self.hear()
        if answer is None:
            raise ConnectionError("it closed the connection")
        return answer

    def round_trip(self, times: int = 15) -> float:
        """Seconds there and back: the median of a few."""
        took = []
        for number in range(times):
            began = time.perf_counter()
            self.ask({"ping": number})
            took.append(time.perf_counter() - began)
        return sorted(took)[len(took) // 2]

    def flow(self, bucket: Bucket | None = None) -> float:
        """Send as fast as it goes for a moment; bytes per second as the receiver counted them."""
        self.say({"flow": True})
        frame = bytes(_FRAME_BYTES)
        self._send_frames(frame, WARM_BYTES, WARM_SECONDS, bucket)
        self.socket.sendall(_LENGTH.pack(_MEASURE))
        self._send_frames(frame, FLOW_BYTES, FLOW_SECONDS, bucket)
        self.socket.sendall(_LENGTH.pack(0))
        answer = self.hear()
        if answer is None:
            raise ConnectionError("it closed the connection")
        return float(answer["bytes"]) / max(float(answer["seconds"]), 1e-6)

    def take_flow(self) -> dict[str, Any]:
        """The receiving side of `flow`."""
        buffer = memoryview(bytearray(_FRAME_BYTES))
        counted, began = 0, time.perf_counter()
        while True:
            length = _LENGTH.unpack(self._exactly(_LENGTH.size))[0]
            if length == 0:
                return {"bytes": counted, "seconds": time.perf_counter() - began}
            if length == _MEASURE:
                counted, began = 0, time.perf_counter()
                continue
            self._drain(length, buffer)
            counted += length

    def _send_frames(self, frame: bytes, most: int, seconds: float, bucket: Bucket | None) -> None:
        packet, sent, until = _LENGTH.pack(len(frame)) + frame, 0, time.perf_counter() + seconds
        while sent < most and time.perf_counter() < until:
            if bucket is not None:
                bucket.take(len(frame))
            self.socket.sendall(packet)
            sent += len(frame)

    def _exactly(self, size: int) -> bytes:
        while len(self._left) < size:
            part = self.socket.recv(_LINE_BYTES)
            if not part:
                raise ConnectionError("it closed the connection")
            self._left += part
        taken, self._left = self._left[:size], self._left[size:]
        return taken

    def _drain(self, length: int, buffer: memoryview) -> None:
        taken = min(length, len(self._left))
        self._left, length = self._left[taken:], length - taken
        while length:
            got = self.socket.recv_into(buffer, min(length, len(buffer)))
            if not got:
                raise ConnectionError("it closed the connection")
            length -= got


class Bucket:
    """A token bucket: no more than so many bytes per second pass."""

    def __init__(self, bytes_per_second: float) -> None:
        self._rate = bytes_per_second
        self._next = time.perf_counter()

    def take(self, size: int) -> None:
        self._next = max(self._next, time.perf_counter()) + size / self._rate
        time.sleep(max(self._next - time.perf_counter(), 0.0))
