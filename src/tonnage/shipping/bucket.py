"""Code in a bucket: uploaded once under its own hash, fetched by the pod through an address that is signed for it.

The pod needs no keys of its own for that. An address lasts a week at most (less where the keys themselves expire), so
it is signed anew for every attempt.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping

from tonnage.errors import EnvironmentProblem, Problem
from tonnage_agent.keeper.failing import PlaceError
from tonnage_agent.keeper.s3.addressing import address_of
from tonnage_agent.keeper.s3.client import open_client
from tonnage_agent.keeper.s3.credentials import find_keys
from tonnage_agent.keeper.s3.signing import Request, encode_path, presigned

SECONDS = 7 * 86_400
"""The longest that S3 signs for."""


def upload(where: str, key: str, content: bytes, environment: Mapping[str, str]) -> None:
    """Put the archive there, unless it is there already."""
    try:
        client = open_client(where, environment)
        if client.size(key) != len(content):
            client.put(key, content)
    except PlaceError as error:
        hint = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (AWS_ENDPOINT_URL for other stores) on this machine"
        raise EnvironmentProblem(
            Problem(code="CODE-006", what=f"the code cannot be put to {where}: {error}", hint=hint)
        ) from None


def signed_address(where: str, key: str, environment: Mapping[str, str], now: dt.datetime) -> str:
    """An address from which anybody who has it can read the object for a while."""
    bucket, _, prefix = where.removeprefix("s3://").partition("/")
    address = address_of(bucket, environment)
    full = f"{prefix.strip('/')}/{key}" if prefix.strip("/") else key
    request = Request("GET", address.host, encode_path(f"{address.base}{full}"))
    stamp = now.astimezone(dt.UTC).strftime("%Y%m%dT%H%M%SZ")
    signed = presigned(request, find_keys(environment), region=address.region, stamp=stamp, seconds=SECONDS)
    return f"{'https' if address.is_tls else 'http'}://{address.host}{signed}"
