"""Calls to one API server: bytes out, bytes in, failures explained.

Reading goes over plain requests because lists are large and we decode only what we use; writing goes
through the Kubernetes library (`applying`). Reads are tried again when the server is busy or the connection
breaks, with full jitter; writes never are, except through server-side apply, which may be repeated by
nature.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

import httpx2
import msgspec

from tonnage.clock import Clock, SystemClock
from tonnage.cluster.port import Answer, Permission
from tonnage.errors import UnreachableError
from tonnage.kube import failing
from tonnage.kube.connecting import USER_AGENT, LoggedIn, LoggedInAsync, plain_timeout
from tonnage.kube.failing import Asked
from tonnage.kube.kinds import Kind
from tonnage.kube.kubeconfig import Access
from tonnage.kube.listing import Paging, ReadPage
from tonnage.kube.logging_in import Credential

TRIES = 4
T = TypeVar("T")


def jittered(attempt: int, chance: random.Random, *, first: float = 0.5, most: float = 30.0) -> float:
    """Full jitter: anywhere up to the doubled wait, so that many clients do not return as one."""
    return chance.uniform(0, min(most, first * 2**attempt))


class KubeClient:
    """One API server as one user. Close it, or use it in a `with`."""

    def __init__(
        self,
        access: Access,
        *,
        transport: httpx2.BaseTransport | None = None,
        async_transport: Callable[[], httpx2.AsyncBaseTransport] | None = None,
        clock: Clock | None = None,
        chance: random.Random | None = None,
    ) -> None:
        self.access = access
        self.credential = Credential(access)
        self.transport = LoggedIn(access, self.credential, transport)
        self._async_inner = async_transport
        self._clock = clock or SystemClock()
        self.chance = chance or random.Random()
        self._http = httpx2.Client(
            base_url=access.server,
            transport=self.transport,
            timeout=plain_timeout(),
            headers={"User-Agent": USER_AGENT, "Accept": "application/json"},
        )
        self._groups: Mapping[str, tuple[str, ...]] | None = None

    def __enter__(self) -> KubeClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    def get(self, path: str, asked: Asked, params: Mapping[str, str] | None = None) -> bytes:
        """Read a path, patiently."""
        for attempt in range(TRIES):
            try:
                return self._once("GET", path, asked, params=params)
            except failing.BusyError as busy:
                if attempt == TRIES - 1:
                    raise
                self._clock.sleep(busy.retry_after or jittered(attempt, self.chance))
            except UnreachableError as broken:
                # A connection that broke half way is worth another try; an address that is wrong is not.
                if attempt == TRIES - 1 or broken.problem.code != "KUBE-015":
                    raise
                self._clock.sleep(jittered(attempt, self.chance))
        raise AssertionError("unreachable: the loop returns or raises")

    def get_json(self, path: str, asked: Asked) -> Any:
        """Read a path that answers one JSON document."""
        return self._read_json(self.get(path, asked))

    def post_json(self, path: str, body: object, asked: Asked) -> Any:
        """Send a question that changes nothing (access reviews)."""
        return self._read_json(self._once("POST", path, asked, content=msgspec.json.encode(body)))

    def send(
        self,
        method: str,
        path: str,
        asked: Asked,
        *,
        body: object = None,
        content_type: str = "application/json",
        params: Mapping[str, str] | None = None,
        seconds: float | None = None,
    ) -> bytes:
        """One call, tried once: whoever repeats it must know that it may be repeated."""
        content = None if body is None else msgspec.json.encode(body)
        return self._once(
            method, path, asked, params=params, content=content, content_type=content_type, seconds=seconds
        )

    @contextmanager
    def streaming(self, path: str, params: Mapping[str, str], idle_seconds: float) -> Iterator[Iterator[str]]:
        """Lines of an answer that goes on, as they arrive: watches and logs that are followed, in a thread."""
        timeout = httpx2.Timeout(idle_seconds, connect=10.0)
        with self._http.stream("GET", path, params=dict(params), timeout=timeout) as response:
            if not response.is_success:
                body = response.read()
                raise failing.from_answer(response.status_code, body, Asked("watch", path.rpartition("/")[2]))
            yield response.iter_lines()

    def list(self, kind: Kind, read: Callable[[bytes], ReadPage[T]], namespace: str = "") -> Paging[T]:
        """Read a whole list in pages, each handed to `read` as it arrives."""
        asked = Asked("list", kind.resource, kind.group, namespace if kind.namespaced else "")
        path = kind.path(namespace, version=self.version_of(kind))
        paging: Paging[T] = Paging()
        while not paging.is_done:
            try:
                body = self.get(path, asked, paging.params())
                paging.accept(read(body))
            except failing.ExpiredError:
                if not paging.can_restart:
                    raise
                paging.restart()
            except msgspec.DecodeError as error:
                raise failing.not_understood(f"{asked}: {error}", self.access.server) from error
        return paging

    def groups(self) -> Mapping[str, tuple[str, ...]]:
        """API groups served, each with its versions, the preferred first. Asked once."""
        if self._groups is None:
            answer = self.get_json("/apis", Asked("get", "api groups"))
            if not isinstance(answer, dict) or answer.get("kind") != "APIGroupList":
                raise failing.not_understood("no list of API groups at /apis", self.access.server)
            self._groups = {group["name"]: _versions(group) for group in answer.get("groups") or ()}
        return self._groups

    def version_of(self, kind: Kind) -> str:
        """The version of a kind's API to use here; raises when the cluster does not have it."""
        if not kind.group or kind.group.endswith(".k8s.io") or "." not in kind.group:
            return kind.versions[0]
        served = self.groups().get(kind.group, ())
        for version in kind.versions:
            if version in served:
                return version
        raise failing.from_answer(404, b"", Asked("list", kind.resource, kind.group))

    def server_version(self) -> str:
        """The API server's version, like `v1.36.4`."""
        try:
            answer = self.get_json("/version", Asked("get", "version"))
        except failing.NotInstalledError as error:
            # Every API server has a version: what answers here is something else (a proxy, a web server).
            raise failing.not_understood("it has no /version", self.access.server) from error
        return str(answer.get("gitVersion", "")) if isinstance(answer, dict) else ""

    def may(self, permission: Permission) -> Answer:
        """Ask the API server whether we are allowed something."""
        attributes = {
            "verb": permission.verb,
            "resource": permission.resource,
            "group": permission.group,
            "namespace": permission.namespace,
            "subresource": permission.subresource,
        }
        review = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": {name: value for name, value in attributes.items() if value}},
        }
        path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
        asked = Asked("create", "selfsubjectaccessreviews", "authorization.k8s.io")
        status = self.post_json(path, review, asked).get("status") or {}
        return Answer(status.get("allowed") is True, str(status.get("reason") or ""))

    def watching_client(self, idle_seconds: float) -> httpx2.AsyncClient:
        """A client for watches: a read that stays silent longer than this is a dead connection."""
        inner = self._async_inner() if self._async_inner else None
        return httpx2.AsyncClient(
            base_url=self.access.server,
            transport=LoggedInAsync(self.access, self.credential, inner),
            timeout=httpx2.Timeout(idle_seconds, connect=10.0),
            headers={"User-Agent": USER_AGENT, "Accept": "application/json"},
        )

    def _read_json(self, body: bytes) -> Any:
        try:
            return msgspec.json.decode(body)
        except msgspec.DecodeError as error:
            raise failing.not_understood(str(error), self.access.server) from error

    def _once(
        self,
        method: str,
        path: str,
        asked: Asked,
        *,
        params: Mapping[str, str] | None = None,
        content: bytes | None = None,
        content_type: str = "application/json",
        seconds: float | None = None,
    ) -> bytes:
        headers = {"Content-Type": content_type} if content is not None else {}
        timeout = plain_timeout() if seconds is None else httpx2.Timeout(seconds)
        try:
            response = self._http.request(
                method, path, params=params, content=content, headers=headers, timeout=timeout
            )
        except httpx2.HTTPError as error:
            raise failing.from_network(error, self.access.server) from error
        if response.is_success:
            return response.content
        raise failing.from_answer(response.status_code, response.content, asked, headers=response.headers)


def _versions(group: Mapping[str, Any]) -> tuple[str, ...]:
    preferred = (group.get("preferredVersion") or {}).get("version")
    others = [entry["version"] for entry in group.get("versions") or () if entry["version"] != preferred]
    return (preferred, *others) if preferred else tuple(others)
