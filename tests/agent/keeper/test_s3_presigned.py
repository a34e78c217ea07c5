"""Code in a bucket: put there once, read through a signed address by somebody without keys, refused when altered."""

from __future__ import annotations

import datetime as dt
import urllib.error
import urllib.request
from collections.abc import Mapping

import pytest
from keeper_builders import Bucket

from tonnage.errors import EnvironmentProblem
from tonnage.shipping.bucket import signed_address, upload


def test_code_in_a_bucket_is_read_without_keys(bucket: Bucket, s3_server: Mapping[str, str]) -> None:
    where = f"s3://{bucket.name}/runs"
    upload(where, ".tonnage/code/a b.tar.gz", b"code", s3_server)
    upload(where, ".tonnage/code/a b.tar.gz", b"code", s3_server)  # it is there already
    url = signed_address(where, ".tonnage/code/a b.tar.gz", s3_server, dt.datetime.now(dt.UTC))
    with urllib.request.urlopen(url, timeout=10) as answer:
        assert answer.read() == b"code"
    with pytest.raises(urllib.error.HTTPError, match="403") as refused:
        urllib.request.urlopen(url.replace("a%20b", "other"), timeout=10)
    refused.value.close()


def test_a_bucket_that_refuses_says_what_to_set(bucket: Bucket, s3_server: Mapping[str, str]) -> None:
    wrong = {**s3_server, "AWS_SECRET_ACCESS_KEY": "wrong"}
    with pytest.raises(EnvironmentProblem, match="AWS_ACCESS_KEY_ID"):
        upload(f"s3://{bucket.name}/runs", "x", b"code", wrong)
