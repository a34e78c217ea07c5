"""A port with few answers: `/metrics` for Prometheus, `/healthz` for a probe, `/record` and `/samples` for whoever
keeps the run alive (through the API server's proxy, so that no volume need be shared to see how far it is).

`http.server` would do, and cost five more megabytes of other people's memory (it brings the mail and TLS packages), so
the little of HTTP that a scraper speaks is spoken here: one request a connection, its head at most 8 KiB and two
seconds, at most four connections at a time. It answers questions; the one thing it can be asked to do is to pass on a
wish for a checkpoint (`POST /save`).
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress

from tonnage_agent.metrics import CONTENT_TYPE

MOST_AT_ONCE = 4
HEAD_BYTES = 8192
SECONDS = 2.0
_REASONS = {
    200: "OK",
    202: "Accepted",
    400: "Bad Request",
    404: "Not Found",
    405: "Method Not Allowed",
    500: "Internal Server Error",
}


class Server:
    """Listens from its making on, until `close`."""

    def __init__(
        self,
        port: int,
        metrics: Callable[[], str],
        more: Mapping[str, Callable[[], str]] | None = None,
        wishes: Mapping[str, Callable[[], None]] | None = None,
    ) -> None:
        """Raises OSError where the port cannot be had; `more` are further pages (JSON), `wishes` take a POST."""
        self._wishes = dict(wishes or {})
        self._pages = {"/metrics": (CONTENT_TYPE, metrics)}
        self._pages.update({path: ("application/json", page) for path, page in (more or {}).items()})
        self._listening = _listen(port)
        self.port = int(self._listening.getsockname()[1])
        self._free = threading.Semaphore(MOST_AT_ONCE)
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)  # wakes the thread that accepts
        self._listening.close()

    def _accept(self) -> None:
        while True:
            self._free.acquire()
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            with connection:
                connection.settimeout(SECONDS)
                method, path = _request(connection)
                code, kind, body = self._answer(method, path)
                connection.sendall(_head(code, kind, len(body)) + (b"" if method == "HEAD" else body))
                connection.shutdown(socket.SHUT_WR)
                with suppress(OSError):
                    connection.recv(1)  # let the other side read it before the connection goes
        except OSError:
            pass  # it went away, or was too slow
        finally:
            self._free.release()

    def _answer(self, method: str, path: str) -> tuple[int, str, bytes]:
        if not method:
            return 400, "text/plain", b"not understood\n"
        if method == "POST" and path in self._wishes:
            self._wishes[path]()
            return 202, "text/plain", b"asked\n"
        if method not in ("GET", "HEAD"):
            return 405, "text/plain", b"only GET\n"
        if path == "/healthz":
            return 200, "text/plain", b"ok\n"
        if path not in self._pages:
            return 404, "text/plain", "only {} and /healthz\n".format(", ".join(self._pages)).encode()
        kind, page = self._pages[path]
        try:
            return 200, kind, page().encode()
        except Exception as error:  # a scrape must not end the agent's thread without a word
            return 500, "text/plain", f"{type(error).__name__}: {error}\n".encode()


def _request(connection: socket.socket) -> tuple[str, str]:
    """Method and path; both empty where it is no HTTP."""
    head = b""
    while b"\r\n\r\n" not in head and b"\n\n" not in head:
        part = connection.recv(HEAD_BYTES)
        head += part
        if not part or len(head) > HEAD_BYTES:
            return "", ""
    words = head.split(b"\n", 1)[0].decode("latin-1").split()
    if len(words) != 3 or not words[2].startswith("HTTP/"):
        return "", ""
    return words[0], words[1].partition("?")[0]


def _head(code: int, kind: str, length: int) -> bytes:
    return (
        f"HTTP/1.1 {code} {_REASONS[code]}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n"
        "Connection: close\r\n\r\n"
    ).encode()


def _listen(port: int) -> socket.socket:
    """On every address, both families where there are two."""
    try:
        listening = socket.socket(socket.AF_INET6)
        listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        address = "::"
    except OSError:
        listening = socket.socket(socket.AF_INET)
        address = ""
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((address, port))
        listening.listen(8)
    except OSError:
        listening.close()
        if address:
            return _listen_v4(port)
        raise
    return listening


def _listen_v4(port: int) -> socket.socket:
    listening = socket.socket(socket.AF_INET)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind(("", port))
        listening.listen(8)
    except OSError:
        listening.close()
        raise
    return listening
