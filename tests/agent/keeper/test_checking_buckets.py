"""Before GPUs are held: whether a bucket can be written, asked as the run itself will ask."""

from __future__ import annotations

import json

import pytest
from keeper_builders import Bucket

from tonnage_agent.checking import VARIABLE, check


def asked(bucket: Bucket, capsys: pytest.CaptureFixture[str], place: str, **changes: str) -> tuple[bool, str]:
    environment = {**bucket.environment, **changes, VARIABLE: json.dumps({"buckets": [place]})}
    code = check(environment)
    answer = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert answer["check"] == f"bucket {place}"
    assert code == (0 if answer["ok"] else 1)
    return answer["ok"], answer["text"]


def test_a_bucket_that_can_be_written_is_left_as_it_was(
    bucket: Bucket, capsys: pytest.CaptureFixture[str]
) -> None:
    assert asked(bucket, capsys, f"s3://{bucket.name}/llama") == (True, "can be written")
    assert [path for path in bucket.folder.rglob(".tonnage-check-*") if path.is_file()] == []


def test_a_wrong_key_and_a_bucket_that_is_not_there_are_named(
    bucket: Bucket, capsys: pytest.CaptureFixture[str]
) -> None:
    ok, text = asked(bucket, capsys, f"s3://{bucket.name}/llama", AWS_SECRET_ACCESS_KEY="wrong")
    assert not ok
    assert "SignatureDoesNotMatch" in text
    ok, text = asked(bucket, capsys, "s3://nosuch-bucket/llama")
    assert not ok
    assert "does not exist" in text


def test_without_its_secret_a_bucket_is_not_even_asked(
    bucket: Bucket, capsys: pytest.CaptureFixture[str]
) -> None:
    questions = {"buckets": [f"s3://{bucket.name}/a"], "variables": ["TOKEN"]}
    assert check({**bucket.environment, VARIABLE: json.dumps(questions)}) == 1
    assert not any("bucket" in json.loads(line)["check"] for line in capsys.readouterr().out.splitlines())
