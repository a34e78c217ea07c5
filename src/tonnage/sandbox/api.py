"""The few calls a sandbox makes to its own API server: small, on the standard library, usable from many
threads.

Commands that look at clusters use the full client of `tonnage.kube`. Building a cluster needs less and
sooner: create some objects as fast as the server takes them, apply manifests of any kind (custom ones too,
found by discovery), wait for something to become true.
"""

from __future__ import annotations

import base64
import http.client
import json
import ssl
import tempfile
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

import yaml

Object = dict[str, Any]
FIELD_MANAGER = "tonnage-sandbox"
_ATTEMPTS = 3


class ApiError(Exception):
    """The API server answered, and said no."""

    def __init__(self, status: int, message: str, path: str) -> None:
        super().__init__(f"{status} on {path}: {message}")
        self.status, self.message, self.path = status, message, path


class _Connection(http.client.HTTPSConnection):
    """Closes itself when its thread ends and nobody holds it any more."""

    def __del__(self) -> None:
        self.close()


class Api:
    """One API server, one identity; a connection per thread, kept open."""

    def __init__(self, server: str, tls: ssl.SSLContext) -> None:
        self._address = urlsplit(server)
        self._tls = tls
        self._own = threading.local()
        self._kinds: dict[str, dict[str, tuple[str, bool]]] = {}

    @classmethod
    def from_kubeconfig(cls, path: Path) -> Api:
        """Connect as the only user of a kubeconfig that `write_kubeconfig` wrote."""
        config = json.loads(path.read_text())
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        ca = base64.b64decode(cluster["certificate-authority-data"]).decode()
        tls = ssl.create_default_context(cadata=ca)
        with tempfile.NamedTemporaryFile(suffix=".pem") as pair:
            pair.write(base64.b64decode(user["client-certificate-data"]))
            pair.write(base64.b64decode(user["client-key-data"]))
            pair.flush()
            tls.load_cert_chain(pair.name)
        return cls(cluster["server"], tls)

    def get(self, path: str) -> Object:
        return self.request("GET", path)

    def list(self, path: str) -> list[Object]:
        """The objects of a collection; Go writes an empty list as null."""
        return self.get(path)["items"] or []

    def post(self, path: str, body: Object) -> Object:
        return self.request("POST", path, body)

    def put(self, path: str, body: Object) -> Object:
        return self.request("PUT", path, body)

    def delete(self, path: str, body: Object | None = None) -> Object:
        return self.request("DELETE", path, body)

    def patch(self, path: str, body: Any, *, type_: str = "application/merge-patch+json") -> Object:
        return self.request("PATCH", path, body, content_type=type_)

    def is_ready(self) -> bool:
        """Whether the server says that it can serve."""
        try:
            self.request("GET", "/readyz")
            return True
        except (ApiError, OSError, http.client.HTTPException):
            return False

    def exists(self, path: str) -> bool:
        try:
            self.get(path)
            return True
        except ApiError as answer:
            if answer.status == 404:
                return False
            raise

    def request(
        self, method: str, path: str, body: Any = None, *, content_type: str = "application/json"
    ) -> Object:
        """Send one request; answers that ask for patience are asked again, other refusals raise ApiError."""
        content = None if body is None else json.dumps(body).encode()
        headers = {"Accept": "application/json", "Content-Type": content_type}
        for attempt in range(_ATTEMPTS + 1):
            status, answer, wait = self._send(method, path, content, headers)
            if status != 429 or attempt == _ATTEMPTS:
                break
            time.sleep(wait)
        if status >= 400:
            raise ApiError(status, _message(answer), path)
        try:
            return cast(Object, json.loads(answer)) if answer else {}
        except ValueError:
            return {"text": answer.decode(errors="replace")}

    def each(self, call: Callable[[Object], object], objects: Iterable[Object], *, at_once: int = 8) -> None:
        """Do one call for each object, several at a time; a failure is raised after the others ended."""
        with ThreadPoolExecutor(at_once) as pool:
            for done in [pool.submit(call, item) for item in objects]:
                done.result()

    def create(self, item: Object) -> Object:
        """Create an object; one that exists already is left as it is."""
        try:
            return self.post(self.collection(item), item)
        except ApiError as answer:
            if answer.status != 409:
                raise
            return item

    def apply(self, objects: Iterable[Object]) -> None:
        """Server-side apply: definitions first, and nothing else before those are established."""
        items = list(objects)
        definitions = [item for item in items if item["kind"] == "CustomResourceDefinition"]
        self.each(self.apply_one, definitions)
        for definition in definitions:
            self._wait_for_definition(definition)
        namespaces = [item for item in items if item["kind"] == "Namespace"]
        self.each(self.apply_one, namespaces)
        self.each(self.apply_one, [i for i in items if i not in definitions and i not in namespaces])

    def _wait_for_definition(self, definition: Object) -> None:
        """Established comes first; only then does discovery, which finds the path, get to know the kind."""
        spec, name = definition["spec"], definition["metadata"]["name"]
        self.wait(f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}", _is_established)
        for version in spec["versions"]:
            if version.get("served"):
                self.wait(
                    f"/apis/{spec['group']}/{version['name']}",
                    lambda listed: any(
                        found["name"] == spec["names"]["plural"] for found in listed["resources"]
                    ),
                )

    def apply_one(self, item: Object) -> Object:
        """Server-side apply of one object, as the sandbox's own field manager."""
        path = f"{self.path(item)}?fieldManager={FIELD_MANAGER}&force=true"
        return self.patch(path, item, type_="application/apply-patch+yaml")

    def apply_yaml(self, text: str) -> None:
        """Server-side apply of every document in a YAML text."""
        self.apply(item for item in yaml.load_all(text, _LOADER) if item)

    def wait(self, path: str, holds: Callable[[Object], bool], *, seconds: float = 30) -> Object:
        """Read the object until it is as wanted; raise TimeoutError if it never is."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                found = self.get(path)
                if holds(found):
                    return found
            except ApiError as answer:
                if answer.status not in (404, 503):
                    raise
            if time.monotonic() > deadline:
                raise TimeoutError(f"{path} was not as wanted after {seconds:.0f} s")
            time.sleep(0.05)

    def path(self, item: Object) -> str:
        """Where this object lives."""
        return f"{self.collection(item)}/{item['metadata']['name']}"

    def collection(self, item: Object) -> str:
        """Where objects like this one are created."""
        version = item["apiVersion"]
        plural, is_namespaced = self._kind(version, item["kind"])
        prefix = f"/apis/{version}" if "/" in version else f"/api/{version}"
        namespace = item["metadata"].get("namespace") or "default"
        return f"{prefix}/namespaces/{namespace}/{plural}" if is_namespaced else f"{prefix}/{plural}"

    def _kind(self, version: str, kind: str) -> tuple[str, bool]:
        if kind not in self._kinds.get(version, {}):
            listed = self.get(f"/apis/{version}" if "/" in version else f"/api/{version}")
            self._kinds[version] = {
                found["kind"]: (found["name"], found["namespaced"])
                for found in listed["resources"]
                if "/" not in found["name"]
            }
        if kind not in self._kinds[version]:
            raise ApiError(404, f"the server knows no kind {kind} in {version}", version)
        return self._kinds[version][kind]

    def _send(
        self, method: str, path: str, content: bytes | None, headers: Object
    ) -> tuple[int, bytes, float]:
        for is_last in (False, True):
            connection = self._connection()
            try:
                connection.request(method, path, content, headers)
                answer = connection.getresponse()
                wait = float(answer.headers.get("Retry-After") or 1)
                return answer.status, answer.read(), wait
            except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):
                # A kept connection may have been closed meanwhile; a fresh one deserves one try.
                self._close()
                if is_last:
                    raise
            except BaseException:
                self._close()
                raise
        raise AssertionError("unreachable")

    def _connection(self) -> http.client.HTTPSConnection:
        if not hasattr(self._own, "connection"):
            self._own.connection = _Connection(
                self._address.hostname or "", self._address.port, timeout=30, context=self._tls
            )
        return cast(http.client.HTTPSConnection, self._own.connection)

    def _close(self) -> None:
        self._own.connection.close()
        del self._own.connection


_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def _is_established(definition: Object) -> bool:
    conditions = definition.get("status", {}).get("conditions") or []
    return any(c["type"] == "Established" and c["status"] == "True" for c in conditions)


def _message(answer: bytes) -> str:
    try:
        return str(json.loads(answer)["message"])
    except (ValueError, KeyError, TypeError):
        return answer.decode(errors="replace")[:500]
