"""Telling the agent how training goes: one datagram per event, and never a wait.

The socket does not block: where the agent is slow, a step's datagram is dropped and the next one says more anyway.
Checkpoints, resumes and skipped ones are rare and matter, so those are tried for a few milliseconds. No agent, no
cost: without a socket nothing is even encoded.
"""

from __future__ import annotations

import json
import os
import socket
import time
from math import isfinite
from typing import Any

LARGEST = 8192
_TRIES = 10
_PAUSE_SECONDS = 0.002
_AGAIN_SECONDS = 5.0
_encode = json.JSONEncoder(separators=(",", ":")).encode


class Reporter:
    """Sends events to the socket of the contract; silent where there is none."""

    def __init__(self, address: str, rank: int = 0) -> None:
        self._address = "\0" + address[1:] if address.startswith("@") else address
        self._rank = rank
        self._who = f',"rank":{rank},"pid":{os.getpid()}'
        self._socket: socket.socket | None = None
        self._not_before = 0.0

    def step(self, step: int, **values: float | None) -> None:
        """One step was made; values that are unknown, or no numbers, are left out."""
        if self._address:
            # Written by hand: at every step, an encoder would cost as much as all the rest.
            told = "".join(
                f',"{name}":{value}'
                for name, value in values.items()
                if value is not None and isfinite(value)
            )
            self._send(f'{{"event":"step","when":{time.time():.3f},"step":{step}{self._who}{told}}}', 1)

    def phase(self, name: str, state: str) -> None:
        """A phase begins or ends."""
        if self._address:
            event = {"event": "phase", "when": time.time(), "name": name, "state": state, "rank": self._rank}
            self._send(_encode(event), _TRIES)

    def event(self, event: str, **values: Any) -> None:
        """Something rare: checkpoint, resumed, skipped, message."""
        if self._address:
            self._send(_encode({"event": event, "when": time.time(), **_shortened(values)}), _TRIES)

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def __del__(self) -> None:
        self.close()

    def _send(self, text: str, tries: int) -> None:
        content = text.encode()
        for attempt in range(tries):
            if attempt:
                time.sleep(_PAUSE_SECONDS)
            connected = self._socket or self._connected()
            if connected is None:
                return
            try:
                connected.send(content)
                return
            except BlockingIOError:
                continue
            except OSError:  # the agent is gone; it may come back
                self._give_up()
                return

    def _connected(self) -> socket.socket | None:
        if self._socket is None and time.monotonic() >= self._not_before:
            made = socket.socket(
                socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK
            )
            try:
                made.connect(self._address)
                self._socket = made
            except OSError:
                made.close()
                self._give_up()
        return self._socket

    def _give_up(self) -> None:
        self.close()
        self._not_before = time.monotonic() + _AGAIN_SECONDS


def _shortened(values: dict[str, Any]) -> dict[str, Any]:
    """Texts cut so that a datagram stays below its limit."""
    return {name: v[: LARGEST // 8] if isinstance(v, str) else v for name, v in values.items()}
