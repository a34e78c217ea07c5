"""AWS Signature Version 4 for S3, in the Authorization header. Pure; checked against AWS' published examples.

Every payload is hashed and the hash is signed: the server refuses bytes that changed on the way.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote

EMPTY_SHA256 = hashlib.sha256(b"").hexdigest()


@dataclass(frozen=True)
class Keys:
    """Access keys."""

    access: str
    secret: str
    token: str = ""
    expires_at: float | None = None
    """Seconds since 1970; None where they last."""

    def __repr__(self) -> str:
        return f"Keys({self.access[:4]}...)"  # never in a log


@dataclass(frozen=True)
class Request:
    """One request, before it is signed."""

    method: str
    host: str
    path: str
    """As it is sent: percent-encoded."""
    query: Sequence[tuple[str, str]] = ()
    headers: Mapping[str, str] | None = None
    payload_sha256: str = EMPTY_SHA256


def encode_path(path: str) -> str:
    """Percent-encode a path the way S3 signs it.

    >>> encode_path("/a b/test$file")
    '/a%20b/test%24file'
    """
    return quote(path, safe="/-_.~")


def encode_query(query: Sequence[tuple[str, str]]) -> str:
    """The canonical query: sorted, every name with a value.

    >>> encode_query([("prefix", "J"), ("max-keys", "2"), ("acl", "")])
    'acl=&max-keys=2&prefix=J'
    """
    return "&".join(
        f"{quote(name, safe='-_.~')}={quote(value, safe='-_.~')}" for name, value in sorted(query)
    )


def sign(request: Request, keys: Keys, *, region: str, stamp: str, service: str = "s3") -> dict[str, str]:
    """All headers of the signed request; `stamp` is its time, such as 20130524T000000Z."""
    headers = {
        **(request.headers or {}),
        "host": request.host,
        "x-amz-content-sha256": request.payload_sha256,
        "x-amz-date": stamp,
    }
    if keys.token:
        headers["x-amz-security-token"] = keys.token
    lowered = {name.lower(): " ".join(value.split()) for name, value in headers.items()}
    names = ";".join(sorted(lowered))
    canonical = "\n".join(
        [
            request.method,
            request.path,
            encode_query(request.query),
            *(f"{name}:{lowered[name]}" for name in sorted(lowered)),
            "",
            names,
            request.payload_sha256,
        ]
    )
    scope = f"{stamp[:8]}/{region}/{service}/aws4_request"
    hashed = hashlib.sha256(canonical.encode()).hexdigest()
    to_sign = f"AWS4-HMAC-SHA256\n{stamp}\n{scope}\n{hashed}"
    signature = hmac.new(
        _key(keys.secret, stamp[:8], region, service), to_sign.encode(), hashlib.sha256
    ).hexdigest()
    headers["Authorization"] = (
        f"AWS4-HMAC-SHA256 Credential={keys.access}/{scope},SignedHeaders={names},Signature={signature}"
    )
    return headers


def presigned(request: Request, keys: Keys, *, region: str, stamp: str, seconds: int) -> str:
    """The path and query of a request that anybody may make for so long, signed in its query."""
    scope = f"{stamp[:8]}/{region}/s3/aws4_request"
    query = [
        *request.query,
        ("X-Amz-Algorithm", "AWS4-HMAC-SHA256"),
        ("X-Amz-Credential", f"{keys.access}/{scope}"),
        ("X-Amz-Date", stamp),
        ("X-Amz-Expires", str(seconds)),
        ("X-Amz-SignedHeaders", "host"),
    ]
    if keys.token:
        query.append(("X-Amz-Security-Token", keys.token))
    parts = [
        request.method,
        request.path,
        encode_query(query),
        f"host:{request.host}",
        "",
        "host",
        "UNSIGNED-PAYLOAD",
    ]
    hashed = hashlib.sha256("\n".join(parts).encode()).hexdigest()
    to_sign = f"AWS4-HMAC-SHA256\n{stamp}\n{scope}\n{hashed}"
    key = _key(keys.secret, stamp[:8], region, "s3")
    signature = hmac.new(key, to_sign.encode(), hashlib.sha256).hexdigest()
    return f"{request.path}?{encode_query(query)}&X-Amz-Signature={signature}"


def _key(secret: str, day: str, region: str, service: str) -> bytes:
    key = f"AWS4{secret}".encode()
    for part in (day, region, service, "aws4_request"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return key
