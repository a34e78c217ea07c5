"""The wire to one API server: TLS, proxies and logins as two transports, one for calls and one for watches.

The Kubernetes library in use can neither merge kubeconfigs nor log in the modern way, but it takes a
transport. So all of that lives here, once, and the library, our own reads and our watches share it; tests
put faults in the same place.
"""

from __future__ import annotations

import asyncio
import ipaddress
import os
import ssl
import tempfile
import threading
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import httpx2

from tonnage import __version__
from tonnage.errors import Problem, UnauthorizedError, UnreachableError
from tonnage.kube.kubeconfig import Access
from tonnage.kube.logging_in import Credential, Held

USER_AGENT = f"tonnage/{__version__}"
CONNECT_SECONDS = 10.0
READ_SECONDS = 60.0


def plain_timeout() -> httpx2.Timeout:
    """For calls that answer: the API server itself gives up after a minute."""
    return httpx2.Timeout(READ_SECONDS, connect=CONNECT_SECONDS)


class LoggedIn(httpx2.BaseTransport):
    """Calls, with our credentials on each; a 401 renews them once."""

    def __init__(
        self, access: Access, credential: Credential, inner: httpx2.BaseTransport | None = None
    ) -> None:
        self._access, self._credential = access, credential
        self._inner = inner
        self._given = inner is not None
        self._for: Held | None = None
        self._lock = threading.Lock()

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        held = self._credential.held()
        response = self._send(request, held)
        if response.status_code == 401 and self._credential.can_renew:
            response.read()
            response.close()
            self._credential.refuse(held)
            response = self._send(request, self._credential.held())
        return response

    def _send(self, request: httpx2.Request, held: Held) -> httpx2.Response:
        prepare(request, self._access, self._credential.headers(held))
        return self._transport(held).handle_request(request)

    def _transport(self, held: Held) -> httpx2.BaseTransport:
        # Lists run on several threads; the first of them, and the first with a new certificate, makes the wire.
        with self._lock:
            if self._inner is None or (not self._given and needs_new_wire(self._for, held)):
                self._inner = httpx2.HTTPTransport(
                    verify=tls_context(self._access, held),
                    proxy=proxy_for(self._access, os.environ),
                    trust_env=False,
                )
            self._for = held
            return self._inner

    def close(self) -> None:
        if self._inner is not None:
            self._inner.close()


class LoggedInAsync(httpx2.AsyncBaseTransport):
    """The same for watches. Logging in may run a program, so it happens on a thread."""

    def __init__(
        self, access: Access, credential: Credential, inner: httpx2.AsyncBaseTransport | None = None
    ) -> None:
        self._access, self._credential = access, credential
        self._inner = inner
        self._given = inner is not None
        self._for: Held | None = None

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        held = await asyncio.to_thread(self._credential.held)
        response = await self._send(request, held)
        if response.status_code == 401 and self._credential.can_renew:
            await response.aread()
            await response.aclose()
            self._credential.refuse(held)
            response = await self._send(request, await asyncio.to_thread(self._credential.held))
        return response

    async def _send(self, request: httpx2.Request, held: Held) -> httpx2.Response:
        prepare(request, self._access, self._credential.headers(held))
        if self._inner is None or (not self._given and needs_new_wire(self._for, held)):
            self._inner = httpx2.AsyncHTTPTransport(
                verify=tls_context(self._access, held),
                proxy=proxy_for(self._access, os.environ),
                trust_env=False,
            )
        self._for = held
        return await self._inner.handle_async_request(request)

    async def aclose(self) -> None:
        if self._inner is not None:
            await self._inner.aclose()


def prepare(request: httpx2.Request, access: Access, headers: list[tuple[str, str]]) -> None:
    """Put who we are, and the name we expect in the server's certificate, on a request."""
    for name, _ in headers:
        if name in request.headers:
            del request.headers[name]
    if headers:
        request.headers = httpx2.Headers([*request.headers.multi_items(), *headers])
    if access.tls_server_name:
        request.extensions = {**request.extensions, "sni_hostname": access.tls_server_name}


def needs_new_wire(before: Held | None, now: Held) -> bool:
    """Certificates belong to a connection: another one needs another connection."""
    return before is not None and (before.certificate, before.key) != (now.certificate, now.key)


def tls_context(access: Access, held: Held) -> ssl.SSLContext:
    """How we check the server, and the certificate we show it."""
    try:
        authority = access.authority.decode("ascii") if access.authority else None
        context = ssl.create_default_context(cadata=authority)
    except (ssl.SSLError, ValueError, UnicodeDecodeError) as error:
        raise UnreachableError(
            Problem(
                code="KUBE-004",
                what=f"the certificate authority of context {access.context!r} cannot be used: {error}",
                expected="certificates in PEM",
                hint="let your provider write the kubeconfig again",
            )
        ) from error
    # Since Python 3.13 the default also demands extensions that many clusters' own authorities lack; Go
    # does not.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if access.insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if held.certificate and held.key:
        _show_certificate(context, held.certificate, held.key, access)
    return context


def proxy_for(access: Access, environment: Mapping[str, str]) -> str | None:
    """The proxy kubectl would use: the kubeconfig's, else the environment's, never for loopback."""
    if access.proxy_url:
        return _usable_proxy(access.proxy_url, access.server)
    url = urllib.parse.urlsplit(access.server)
    host = url.hostname or ""
    if host == "localhost" or _is_loopback(host):
        return None
    lowered = {name.lower(): value for name, value in environment.items() if value}
    proxies = {"no": lowered.get("no_proxy", "")}
    if urllib.request.proxy_bypass_environment(host, proxies):  # type: ignore[attr-defined]
        return None
    found = lowered.get(f"{url.scheme}_proxy")
    return _usable_proxy(found, access.server) if found else None


def _usable_proxy(url: str, server: str) -> str:
    if url.startswith("socks"):
        raise UnreachableError(
            Problem(
                code="KUBE-016",
                what="the way to this cluster is a SOCKS proxy, which Tonnage cannot speak to",
                where=server,
                found=urllib.parse.urlsplit(url).scheme,
                expected="an http:// or https:// proxy",
                hint="name an HTTP proxy in proxy-url or HTTPS_PROXY, or forward the port with `ssh -L`",
            )
        )
    return url


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _show_certificate(context: ssl.SSLContext, certificate: bytes, key: bytes, access: Access) -> None:
    try:
        with _private_file(certificate + b"\n" + key) as file:
            context.load_cert_chain(file)
    except ssl.SSLError as error:
        raise UnauthorizedError(
            Problem(
                code="KUBE-004",
                what=f"the client certificate of context {access.context!r} cannot be used: {error}",
                expected="a certificate and its own key in PEM",
                hint="log in again, or let your provider write the kubeconfig again",
            )
        ) from error


@contextmanager
def _private_file(data: bytes) -> Iterator[Path]:
    # OpenSSL takes keys from files only; this one is readable by us alone and gone a moment later.
    descriptor, name = tempfile.mkstemp(prefix="tonnage-")
    path = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        yield path
    finally:
        path.unlink()
