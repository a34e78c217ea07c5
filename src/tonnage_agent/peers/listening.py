"""The answering side: every peer may connect, say who it is, measure, and leave notes on our board."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from tonnage_agent.peers.wire import Line


@dataclass(frozen=True)
class Identity:
    """Who an agent is: pods of another run, or of an attempt that is just ending, are not our peers."""

    run: str
    attempt: int
    node: int

    def as_json(self) -> dict[str, Any]:
        return {"run": self.run, "attempt": self.attempt, "node": self.node}


class Board:
    """Notes the peers left, by node; waiting for them is possible."""

    def __init__(self) -> None:
        self._notes: dict[int, dict[str, Any]] = {}
        self._changed = threading.Condition()

    def put(self, node: int, notes: dict[str, Any]) -> None:
        with self._changed:
            self._notes.setdefault(node, {}).update(notes)
            self._changed.notify_all()

    def read(self) -> dict[int, dict[str, Any]]:
        """All notes."""
        with self._changed:
            return {node: dict(notes) for node, notes in self._notes.items()}

    def wait(self, nodes: set[int], names: tuple[str, ...], seconds: float) -> bool:
        """Until each of these nodes left a note of one of these names; False when time is up."""

        def all_there() -> bool:
            return all(any(name in self._notes.get(node, {}) for name in names) for node in nodes)

        with self._changed:
            return self._changed.wait_for(all_there, max(seconds, 0.0))


class Listener:
    """Our port, open until `close`."""

    def __init__(self, address: str, port: int, me: Identity, board: Board) -> None:
        """Raises OSError where the port cannot be had."""
        self._me, self._board = me, board
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self._listening = socket.socket(family)
        self._listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            self._listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        try:
            self._listening.bind((address, port))
            self._listening.listen(1024)
        except OSError:
            self._listening.close()
            raise
        self._threads: list[threading.Thread] = []
        self._connections: list[socket.socket] = []
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._accepting.start()

    def close(self, seconds: float = 2.0) -> None:
        """Close the port; peers close their side first, so that the port is free at once."""
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._accepting.join(seconds)
        for thread in self._threads:
            thread.join(seconds)
        for connection in self._connections:
            connection.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            connection.settimeout(600)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._connections.append(connection)
            thread = threading.Thread(target=self._serve, args=(Line(connection),), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self, line: Line) -> None:
        node: int | None = None
        try:
            while True:
                message = line.hear()
                if message is None:
                    return
                if "hello" in message:
                    node = self._greeted(message["hello"])
                    line.say(self._me.as_json())
                elif "ping" in message:
                    line.say({"pong": message["ping"]})
                elif "flow" in message:
                    line.say(line.take_flow())
                elif "tell" in message and node is not None and isinstance(message["tell"], dict):
                    self._board.put(node, message["tell"])
                    line.say({"ok": True})
                else:
                    return
        except (OSError, ValueError, KeyError, TypeError):
            return  # not one of us, or gone
        finally:
            line.socket.close()

    def _greeted(self, hello: dict[str, Any]) -> int | None:
        is_ours = hello.get("run") == self._me.run and hello.get("attempt") == self._me.attempt
        return int(hello["node"]) if is_ours else None
