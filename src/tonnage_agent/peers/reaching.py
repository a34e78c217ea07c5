"""The asking side: find every peer by name, connect, make sure it is the one we mean; again and again until the time
is up, because pods start one after another and names appear late.
"""

from __future__ import annotations

import socket
import threading
import time

from tonnage_agent.peers.listening import Identity
from tonnage_agent.peers.wire import Line

_AGAIN_SECONDS = 0.25
_CONNECT_SECONDS = 5.0
_SEND_BUFFER = 4 << 20


class Reaching:
    """Connections to all peers in the making; `lines` has those made, `reasons` why the others are not."""

    def __init__(self, peers: dict[int, tuple[str, int]], me: Identity, until: float) -> None:
        """`until` is of the monotonic clock."""
        self.lines: dict[int, Line] = {}
        self.reasons: dict[int, str] = dict.fromkeys(peers, "not tried yet")
        self._peers, self._me, self._until = peers, me, until
        self._changed = threading.Condition()
        for node in peers:
            threading.Thread(target=self._reach, args=(node,), daemon=True).start()

    def wait(self, seconds: float) -> bool:
        """Until all are reached; False when time is up."""
        with self._changed:
            return self._changed.wait_for(lambda: len(self.lines) == len(self._peers), max(seconds, 0.0))

    def close(self) -> None:
        for line in self.lines.values():
            line.socket.close()

    def _reach(self, node: int) -> None:
        host, port = self._peers[node]
        while time.monotonic() < self._until:
            line, why = self._try(node, host, port)
            with self._changed:
                if line is not None:
                    self.lines[node] = line
                    del self.reasons[node]
                    self._changed.notify_all()
                    return
                self.reasons[node] = why
            time.sleep(_AGAIN_SECONDS)

    def _try(self, node: int, host: str, port: int) -> tuple[Line | None, str]:
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except OSError as error:
            return None, f"{host} does not resolve ({error.strerror or error})"
        except UnicodeError:
            return None, f"{host} is not a host name"
        why = ""
        for family, kind, protocol, _, address in found:
            connection = socket.socket(family, kind, protocol)
            try:
                left = max(self._until - time.monotonic(), 0.1)
                connection.settimeout(min(_CONNECT_SECONDS, left))
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER)
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                connection.connect(address)
                line = Line(connection)
                why = self._mismatch(line.ask({"hello": self._me.as_json()}), node)
            except socket.timeout:
                why = f"{address[0]} port {port} does not answer (a firewall or network policy, or it is not up)"
            except ValueError:
                why = f"{address[0]} port {port} is served by something else"
            except OSError as error:
                why = f"{address[0]} port {port}: {(error.strerror or str(error)).lower()}"
            if not why:
                connection.settimeout(30)
                return line, ""
            connection.close()
        return None, why or f"{host} has no address"

    def _mismatch(self, answer: dict[str, object], node: int) -> str:
        """Why whoever answered is not the peer we look for; empty where it is."""
        run, attempt, number = (answer.get(name) for name in ("run", "attempt", "node"))
        if run != self._me.run:
            return f"answered by another run ({run!r})"
        if attempt != self._me.attempt:
            return f"answered by attempt {attempt}"
        return "" if number == node else f"answered by node {number}"
