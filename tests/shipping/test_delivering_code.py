"""Where code goes that a ConfigMap cannot hold, and how a pod without keys reads it from a bucket."""

from __future__ import annotations

import datetime as dt

import pytest

from tonnage.errors import DocumentError
from tonnage.shipping.bucket import signed_address
from tonnage.shipping.delivering import CLAIM_BYTES, CONFIG_MAP_BYTES, way_for
from tonnage.shipping.packing import Archive
from tonnage.spec.loading import load_one
from tonnage.spec.run import Run
from tonnage_agent.keeper.s3.signing import Keys, Request, presigned

DOCUMENT = """
apiVersion: tonnage.dev/v1alpha1
kind: Run
metadata: {{name: sft}}
spec:
  command: [python3, train.py]
  code: .
{saving}"""


def a_run(saving: str = "") -> Run:
    return load_one(DOCUMENT.format(saving=f"  {saving}\n" if saving else ""), "run.yaml", Run)


def an_archive(size: int) -> Archive:
    return Archive(b"x" * size, "hash", 3, size)


def test_small_code_travels_in_a_config_map_wherever_the_run_saves() -> None:
    assert way_for(a_run("checkpoints: s3://bucket/runs"), an_archive(CONFIG_MAP_BYTES)).kind == "config map"


def test_larger_code_goes_where_the_run_saves() -> None:
    archive = an_archive(CONFIG_MAP_BYTES + 1)
    bucket = way_for(a_run("checkpoints: s3://bucket/runs"), archive)
    assert (bucket.kind, str(bucket.place)) == ("bucket", "s3://bucket/runs")
    claim = way_for(a_run("checkpoints: pvc/ckpt"), archive)
    assert (claim.kind, claim.place and claim.place.name) == ("claim", "ckpt")
    assert way_for(a_run("output: s3://results"), archive).kind == "bucket"
    assert claim.key_of("abc") == ".tonnage/code/abc.tar.gz"


def test_without_such_a_place_it_is_refused_with_the_choices() -> None:
    with pytest.raises(DocumentError, match="s3://bucket/prefix or pvc/NAME"):
        way_for(a_run(), an_archive(CONFIG_MAP_BYTES + 1))
    with pytest.raises(DocumentError, match="volumes take up to"):
        way_for(a_run("checkpoints: pvc/ckpt"), an_archive(CLAIM_BYTES + 1))


def test_an_address_is_signed_as_aws_publishes_it() -> None:
    keys = Keys("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")
    request = Request("GET", "examplebucket.s3.amazonaws.com", "/test.txt")
    signed = presigned(request, keys, region="us-east-1", stamp="20130524T000000Z", seconds=86400)
    assert signed.endswith("X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404")


def test_other_stores_are_addressed_by_their_endpoint() -> None:
    environment = {
        "AWS_ACCESS_KEY_ID": "a",
        "AWS_SECRET_ACCESS_KEY": "s",
        "AWS_ENDPOINT_URL": "http://store.example:9000",
    }
    url = signed_address(
        "s3://bucket/runs", "code/x.tar.gz", environment, dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    )
    assert url.startswith(
        "http://store.example:9000/bucket/runs/code/x.tar.gz?X-Amz-Algorithm=AWS4-HMAC-SHA256"
    )
