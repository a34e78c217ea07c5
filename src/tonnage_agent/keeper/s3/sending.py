"""One signed request over a connection that is kept, tried again where that can help.

Tried again, with growing pauses: broken and slow connections, 429, 500, 502, 503 (SlowDown), 504, RequestTimeout.
Corrected once: a clock that is off, keys that expired, a bucket in another region. Everything else is an answer.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import http.client
import random
import re
import ssl
import threading
import time
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Callable, Union

from tonnage_agent.keeper.failing import PlaceError
from tonnage_agent.keeper.s3.addressing import Address, amazon, is_amazon
from tonnage_agent.keeper.s3.credentials import Credentials
from tonnage_agent.keeper.s3.signing import Request, encode_path, encode_query, sign

_TRIES = 8
_FIRST_PAUSE = 0.2
_LONGEST_PAUSE = 10.0
_TIMEOUT_SECONDS = 60.0
_KEPT_SECONDS = 15.0
"""Servers close connections that say nothing; sooner or later in the middle of our next request."""
_AGAIN = (429, 500, 502, 503, 504)
Body = Union[bytes, memoryview]
Take = Callable[[http.client.HTTPResponse], None]


@dataclass(frozen=True)
class Answer:
    """What the server said."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    """Names in lower case."""
    body: bytes = b""

    @property
    def is_fine(self) -> bool:
        return 200 <= self.status < 300

    @property
    def code(self) -> str:
        """S3's own word for an error, such as `NoSuchKey`."""
        found = re.search(rb"<Code>([^<]+)</Code>", self.body)
        return found[1].decode(errors="replace") if found else ""

    @property
    def message(self) -> str:
        found = re.search(rb"<Message>([^<]+)</Message>", self.body)
        return found[1].decode(errors="replace") if found else ""


class Sender:
    """Sends requests to one bucket; may be used by several threads at once."""

    def __init__(
        self,
        address: Address,
        credentials: Credentials,
        environment: Mapping[str, str],
        *,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self.address = address
        self._credentials = credentials
        self._pause = pause
        self._clock_offset = 0.0
        self._lock = threading.Lock()
        self._idle: list[tuple[float, str, http.client.HTTPConnection]] = []
        self._tls = _tls(environment) if address.is_tls else None
        self._proxy = _proxy(address, environment)

    def send(
        self,
        method: str,
        key: str,
        *,
        query: Sequence[tuple[str, str]] = (),
        headers: Mapping[str, str] | None = None,
        body: Body = b"",
        take: Take | None = None,
    ) -> Answer:
        """The server's answer, good or bad; PlaceError where there is none.

        `take` reads the body of a good answer as it comes; it is called again where the connection broke.
        """
        hashed = hashlib.sha256(body).hexdigest()
        corrected: set[str] = set()
        problem = ""
        for attempt in range(_TRIES):
            if attempt and problem:
                self._pause(_pause_before(attempt))
            try:
                answer = self._once(method, key, query, headers or {}, body, hashed, take)
            except (OSError, http.client.HTTPException) as error:
                problem = f"{type(error).__name__}: {error}"
                continue
            if answer.status in _AGAIN or answer.code in ("RequestTimeout", "SlowDown", "InternalError"):
                problem = f"{answer.status} {answer.code} {answer.message}".strip()
                continue
            correction = self._correction(answer)
            if correction and correction not in corrected:
                corrected.add(correction)
                problem = ""
                continue
            return answer
        raise PlaceError(f"s3://{self.address.bucket} at {self.address.host} does not answer: {problem}")

    def _once(
        self,
        method: str,
        key: str,
        query: Sequence[tuple[str, str]],
        headers: Mapping[str, str],
        body: Body,
        hashed: str,
        take: Take | None,
    ) -> Answer:
        path = encode_path(self.address.base + key)
        when = dt.datetime.fromtimestamp(time.time() + self._clock_offset, dt.timezone.utc)
        sent = {**headers, "Content-Length": str(len(body))}
        request = Request(method, self.address.host, path, query, headers, hashed)
        signed = sign(
            request,
            self._credentials.keys(),
            region=self.address.region,
            stamp=when.strftime("%Y%m%dT%H%M%SZ"),
        )
        target = f"{path}?{encode_query(query)}" if query else path
        connection = self._taken()
        try:
            connection.request(method, target, body=body or None, headers={**sent, **signed})
            response = connection.getresponse()
            if take is not None and response.status in (200, 206):
                take(response)
                content = b""
            else:
                content = response.read()
        except BaseException:
            connection.close()
            raise
        if response.will_close:
            connection.close()
        else:
            self._given_back(connection)
        return Answer(response.status, {n.lower(): v for n, v in response.getheaders()}, content)

    def close(self) -> None:
        """Close the connections that are kept."""
        with self._lock:
            kept, self._idle = self._idle, []
        for _, _, connection in kept:
            connection.close()

    def __del__(self) -> None:
        self.close()

    def _correction(self, answer: Answer) -> str:
        """What was wrong and is now put right; empty where nothing can be."""
        if answer.code == "RequestTimeTooSkewed" and "date" in answer.headers:
            server = parsedate_to_datetime(answer.headers["date"]).timestamp()
            self._clock_offset = server - time.time()
            return "clock"
        if answer.code in ("ExpiredToken", "ExpiredTokenException"):
            self._credentials.keys(renew=True)
            return "keys"
        region = answer.headers.get("x-amz-bucket-region", "")
        if region and region != self.address.region and answer.status in (301, 307, 400):
            moved = amazon(self.address.bucket, region)
            here = self.address
            same = Address(here.bucket, region, here.is_tls, here.host, here.base)
            self.address = moved if is_amazon(here) else same
            return "region"
        return ""

    def _taken(self) -> http.client.HTTPConnection:
        """A connection nobody uses: a kept one that is fresh, or a new one."""
        with self._lock:
            while self._idle:
                since, host, connection = self._idle.pop()
                if host == self.address.host and time.monotonic() - since < _KEPT_SECONDS:
                    return connection
                connection.close()
        if self._tls is None:
            return http.client.HTTPConnection(self.address.host, timeout=_TIMEOUT_SECONDS)
        made = http.client.HTTPSConnection(
            self._proxy or self.address.host, timeout=_TIMEOUT_SECONDS, context=self._tls
        )
        if self._proxy:
            made.set_tunnel(self.address.host)
        return made

    def _given_back(self, connection: http.client.HTTPConnection) -> None:
        with self._lock:
            self._idle.append((time.monotonic(), self.address.host, connection))


def _pause_before(attempt: int) -> float:
    """Doubling, with half of it by chance: a thousand pods must not come back in step."""
    longest = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2.0 ** (attempt - 1))
    return longest / 2 + random.random() * longest / 2


def _tls(environment: Mapping[str, str]) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=environment.get("AWS_CA_BUNDLE") or None)


def _proxy(address: Address, environment: Mapping[str, str]) -> str:
    """The proxy for TLS, where one is set and the host is not excepted."""
    proxy = environment.get("HTTPS_PROXY") or environment.get("https_proxy") or ""
    if not proxy or urllib.request.proxy_bypass(address.host.partition(":")[0]):
        return ""
    return proxy.partition("://")[2] or proxy
