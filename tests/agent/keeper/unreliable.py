"""A network that misbehaves: a proxy on the loopback in front of a real S3 server, told what to do to each request.

pass       hand it on
503        answer SlowDown, and hand nothing on
500        answer InternalError
cut        close the connection before answering, and hand nothing on
lose       hand it on, then close the connection: the server did it, the client does not know
corrupt    hand it on with one byte of its body changed
"""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import chain, repeat
from urllib.parse import urlsplit


class Proxy:
    """Requests seen, and what is done to the next ones."""

    def __init__(self, upstream: str) -> None:
        self.upstream = urlsplit(upstream).netloc
        self.seen: list[str] = []
        self.url = ""
        self._lock = threading.Lock()
        self._plan: Iterator[str] = repeat("pass")
        self._only = ""

    def do(self, *actions: str, only: str = "") -> None:
        """What happens to the next requests, in order; `only` to those of this method."""
        with self._lock:
            self._plan, self._only = chain(actions, repeat("pass")), only

    def next_action(self, method: str, path: str) -> str:
        with self._lock:
            self.seen.append(f"{method} {path}")
            return next(self._plan) if self._only in ("", method) else "pass"


@contextmanager
def unreliable(upstream: str) -> Iterable[Proxy]:  # type: ignore[misc]
    """A proxy in front of a server, for as long as the block lasts."""
    proxy = Proxy(upstream)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_any(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = self.rfile.read(length)
            action = proxy.next_action(self.command, self.path)
            if action in ("503", "500"):
                self._answer(int(action), b"<Error><Code>SlowDown</Code></Error>" if action == "503" else b"")
                return
            if action == "cut":
                self.close_connection = True
                return
            if action == "corrupt" and body:
                body = body[:-1] + bytes([body[-1] ^ 1])
            status, headers, content = self._forward(body)
            if action == "lose":
                self.close_connection = True
                return
            self._answer(status, content, headers)

        do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = handle_any  # noqa: N815

        def _forward(self, body: bytes) -> tuple[int, list[tuple[str, str]], bytes]:
            connection = http.client.HTTPConnection(proxy.upstream, timeout=30)
            # The Host header is signed: it is handed on as it came.
            connection.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                connection.putheader(name, value)
            connection.endheaders(body)
            answer = connection.getresponse()
            content = answer.read()
            connection.close()
            return answer.status, answer.getheaders(), content

        def _answer(self, status: int, content: bytes, headers: Iterable[tuple[str, str]] = ()) -> None:
            self.send_response_only(status)
            for name, value in headers:
                if name.lower() not in ("content-length", "transfer-encoding", "connection"):
                    self.send_header(name, value)
            length = {n.lower(): v for n, v in headers}.get("content-length", "")
            self.send_header(
                "Content-Length", length if self.command == "HEAD" and length else str(len(content))
            )
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    proxy.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield proxy  # type: ignore[misc]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
