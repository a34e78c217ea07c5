"""Ask a real API server: one small client for all suites.

Conformance needs thousands of short questions over few connections and the raw answer to each, status code
included; retries and typed errors would only stand in the way. So this is the standard library's HTTP
client, one kept-open connection per thread.
"""

from __future__ import annotations

import base64
import http.client
import ssl
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import msgspec
import yaml

_T = TypeVar("_T")
_R = TypeVar("_R")
_POOL = ThreadPoolExecutor(6, thread_name_prefix="asking")


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What the server said: the status code and the decoded body."""

    status: int
    body: dict[str, Any]

    @property
    def ok(self) -> bool:
        return self.status < 300

    @property
    def message(self) -> str:
        return str(self.body.get("message", ""))


class ApiServer:
    """A connection to the cluster that a kubeconfig's current context names."""

    def __init__(self, kubeconfig: Path) -> None:
        cluster, user = _current(yaml.safe_load(kubeconfig.read_text(encoding="utf-8")))
        address = urlsplit(cluster["server"])
        self._host, self._port = address.hostname or "127.0.0.1", address.port or 443
        self._context = _tls(cluster, user, kubeconfig.parent)
        self._headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if "token" in user:
            self._headers["Authorization"] = f"Bearer {user['token']}"
        self._local = threading.local()

    def get(self, path: str) -> Answer:
        return self.ask("GET", path)

    def create(self, path: str, body: dict[str, Any], *, dry_run: bool = False) -> Answer:
        """POST an object; a dry run goes through all of admission and stores nothing."""
        return self.ask("POST", f"{path}?dryRun=All" if dry_run else path, body)

    def patch(self, path: str, body: dict[str, Any]) -> Answer:
        """A JSON merge patch."""
        return self.ask("PATCH", path, body, content_type="application/merge-patch+json")

    def delete(self, path: str) -> Answer:
        return self.ask("DELETE", path)

    def ask(
        self, method: str, path: str, body: dict[str, Any] | None = None, content_type: str | None = None
    ) -> Answer:
        """One request; a connection the server has closed meanwhile is opened again, once."""
        headers = self._headers | ({"Content-Type": content_type} if content_type else {})
        payload = None if body is None else msgspec.json.encode(body)
        for attempt in (1, 2):
            connection = self._connection()
            try:
                connection.request(method, path, payload, headers)
                response = connection.getresponse()
                return Answer(status=response.status, body=msgspec.json.decode(response.read() or b"{}"))
            except (http.client.HTTPException, OSError):
                connection.close()
                self._local.connection = None
                if attempt == 2:
                    raise
        raise AssertionError("unreachable")

    def watch(self, path: str) -> Iterator[dict[str, Any]]:
        """Every change from now on, on a connection of its own; ends when the server closes it."""
        version = self.get(f"{path}?limit=1").body["metadata"]["resourceVersion"]
        connection = http.client.HTTPSConnection(self._host, self._port, context=self._context)
        try:
            connection.request("GET", f"{path}?watch=1&resourceVersion={version}", headers=self._headers)
            response = connection.getresponse()
            while line := response.readline():
                yield msgspec.json.decode(line)
        finally:
            connection.close()

    def wait_for(self, path: str, ready: Callable[[Answer], bool], *, seconds: float = 30) -> Answer:
        """Poll until the answer is as wanted."""
        give_up = time.monotonic() + seconds
        while True:
            answer = self.get(path)
            if ready(answer):
                return answer
            if time.monotonic() > give_up:
                raise TimeoutError(f"{path}: not ready after {seconds:.0f} s, last status {answer.status}")
            time.sleep(0.05)

    def _connection(self) -> http.client.HTTPSConnection:
        connection: http.client.HTTPSConnection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = http.client.HTTPSConnection(
                self._host, self._port, timeout=60, context=self._context
            )
            self._local.connection = connection
        return connection


def in_parallel(do: Callable[[_T], _R], items: Iterable[_T]) -> Iterator[_R]:
    """Results in order, a few at a time, on threads that keep their connections."""
    yield from _POOL.map(do, items)


def _current(config: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    contexts = {entry["name"]: entry["context"] for entry in config["contexts"]}
    context = contexts[config["current-context"]]
    clusters = {entry["name"]: entry["cluster"] for entry in config["clusters"]}
    users = {entry["name"]: entry["user"] for entry in config["users"]}
    return clusters[context["cluster"]], users[context["user"]]


def _tls(cluster: dict[str, Any], user: dict[str, Any], folder: Path) -> ssl.SSLContext:
    context = ssl.create_default_context()
    if cluster.get("insecure-skip-tls-verify"):
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    authority = _material(cluster, "certificate-authority", folder)
    if authority is not None:
        context.load_verify_locations(cadata=authority.decode())
    certificate = _material(user, "client-certificate", folder)
    key = _material(user, "client-key", folder)
    if certificate is not None and key is not None:
        # The ssl module reads client certificates from files only.
        with tempfile.NamedTemporaryFile() as both:
            both.write(certificate + b"\n" + key)
            both.flush()
            context.load_cert_chain(both.name)
    return context


def _material(entry: dict[str, Any], name: str, folder: Path) -> bytes | None:
    if f"{name}-data" in entry:
        return base64.b64decode(entry[f"{name}-data"])
    return (folder / entry[name]).read_bytes() if name in entry else None
