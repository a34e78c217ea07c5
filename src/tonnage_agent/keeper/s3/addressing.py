"""Where a bucket is: from its name and the environment to host, port and region. Pure.

AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL    another server than AWS; its buckets are part of the path, as most
                                         compatible servers want it
AWS_VIRTUAL_HOSTED_STYLE_REQUEST=true    buckets are part of the host there as well
AWS_REGION, AWS_DEFAULT_REGION           else us-east-1; a wrong one is corrected by the server's answer
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from tonnage_agent.keeper.failing import PlaceError


@dataclass(frozen=True)
class Address:
    """How to reach one bucket."""

    bucket: str
    region: str
    is_tls: bool
    host: str
    """As the Host header has it, with a port where it is not the usual one."""
    base: str
    """Before every key: `/` or `/bucket/`, behind the endpoint's own path."""


def address_of(bucket: str, environment: Mapping[str, str]) -> Address:
    """The bucket's address."""
    if not bucket or "/" in bucket:
        raise PlaceError(f"{bucket!r} is not the name of a bucket; expected s3://bucket/prefix")
    region = environment.get("AWS_REGION") or environment.get("AWS_DEFAULT_REGION") or "us-east-1"
    endpoint = environment.get("AWS_ENDPOINT_URL_S3") or environment.get("AWS_ENDPOINT_URL") or ""
    if not endpoint:
        return amazon(bucket, region)
    parts = urlsplit(endpoint)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise PlaceError(f"AWS_ENDPOINT_URL is {endpoint!r}; expected http://host:port or https://host")
    is_virtual = environment.get("AWS_VIRTUAL_HOSTED_STYLE_REQUEST", "").lower() in ("1", "true")
    root = parts.path.rstrip("/")
    if is_virtual:
        return Address(bucket, region, parts.scheme == "https", f"{bucket}.{parts.netloc}", f"{root}/")
    return Address(bucket, region, parts.scheme == "https", parts.netloc, f"{root}/{bucket}/")


def amazon(bucket: str, region: str) -> Address:
    """AWS itself: the bucket in the host, unless dots in its name would break the certificate."""
    suffix = "amazonaws.com.cn" if region.startswith("cn-") else "amazonaws.com"
    if "." in bucket:
        return Address(bucket, region, True, f"s3.{region}.{suffix}", f"/{bucket}/")
    return Address(bucket, region, True, f"{bucket}.s3.{region}.{suffix}", "/")


def is_amazon(address: Address) -> bool:
    return address.host.rpartition(":")[0].endswith(".amazonaws.com") or "amazonaws.com" in address.host
