"""The S3 client against a real server, over a network that loses, delays and damages what is sent."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from keeper_builders import Bucket, a_keeper, content_of
from unreliable import Proxy, unreliable

from tonnage_agent.keeper import PlaceError, SaveFailed
from tonnage_agent.keeper.bucket import BucketPlace
from tonnage_agent.keeper.opening import open_place
from tonnage_agent.keeper.s3.addressing import Address, address_of
from tonnage_agent.keeper.s3.uploading import PART
from tonnage_agent.keeper.staging import Staging


@pytest.fixture
def proxy(bucket: Bucket) -> Iterator[Proxy]:
    with unreliable(bucket.environment["AWS_ENDPOINT_URL"]) as between:
        yield between


def test_a_created_object_is_never_replaced(bucket: Bucket) -> None:
    client = bucket.client()

    assert client.put_new("m.json", b"first")
    assert not client.put_new("m.json", b"second")
    assert client.get("m.json") == b"first"


def test_what_is_not_there_is_none(bucket: Bucket, tmp_path: Path) -> None:
    client = bucket.client()

    assert client.get("x") is None
    assert client.size("x") is None
    with pytest.raises(FileNotFoundError):
        client.get_file("x", tmp_path / "x", 10)
    client.delete(["x"])


def test_long_listings_come_in_pages(bucket: Bucket) -> None:
    client = bucket.client()
    for number in range(1005):
        (bucket.folder / "ckpt" / "many").mkdir(parents=True, exist_ok=True)
        (bucket.folder / "ckpt" / "many" / f"{number:04d}").write_bytes(b"x")

    assert len(client.find("many/")) == 1005
    assert [each.key for each in client.find(deep=False)] == ["many/"]


@pytest.mark.parametrize("trouble", ["503", "500", "cut", "lose"])
def test_a_save_over_a_bad_network_succeeds_and_is_right(
    bucket: Bucket, proxy: Proxy, tmp_path: Path, trouble: str
) -> None:
    content = os.urandom(1000) * 40_000  # three parts
    keeper = a_keeper(through(bucket, proxy, tmp_path))
    proxy.do(*[trouble, "pass", trouble, trouble, "pass"] * 4)

    keeper.save(1, content)

    proxy.do()
    assert content_of(a_keeper(bucket.place(tmp_path / "other"), attempt=2)) == content


def test_a_commit_whose_answer_was_lost_is_still_one_commit(bucket: Bucket, proxy: Proxy) -> None:
    client = bucket.client(AWS_ENDPOINT_URL=proxy.url)
    proxy.do("lose", only="PUT")

    assert client.put_new("m.json", b"ours")
    assert not client.put_new("m.json", b"another's")


def test_bytes_changed_on_the_way_are_refused_by_the_server(
    bucket: Bucket, proxy: Proxy, tmp_path: Path
) -> None:
    keeper = a_keeper(through(bucket, proxy, tmp_path))
    keeper.save(1, b"good")
    proxy.do(*["corrupt"] * 10, only="PUT")

    with pytest.raises(SaveFailed, match=r"step 2 was not saved.*step 1 is untouched"):
        keeper.save(2, b"x" * 1000)

    proxy.do()
    assert content_of(a_keeper(bucket.place(tmp_path / "o"), attempt=2)) == b"good"
    assert bucket.client().find("data/step-0000000002") == []


def test_a_server_that_never_answers_ends_in_words(bucket: Bucket, proxy: Proxy, tmp_path: Path) -> None:
    keeper = a_keeper(through(bucket, proxy, tmp_path))
    keeper.save(1, b"good")
    proxy.do(*["503"] * 500)

    with pytest.raises(SaveFailed, match=r"does not answer: 503 SlowDown"):
        keeper.save(2, b"x")


def test_an_upload_that_fails_half_way_leaves_no_parts_behind(
    bucket: Bucket, proxy: Proxy, tmp_path: Path
) -> None:
    keeper = a_keeper(through(bucket, proxy, tmp_path))
    proxy.do("pass", "pass", *["503"] * 60, only="PUT")

    with pytest.raises(SaveFailed):
        keeper.save(1, os.urandom(PART * 4 + 1))

    assert list(bucket.client()._uploads.unfinished("")) == []
    assert bucket.client().find() == []


def test_at_most_four_parts_are_held_in_memory(bucket: Bucket, tmp_path: Path) -> None:
    import subprocess
    import sys

    with (tmp_path / "big").open("wb") as file:
        file.truncate(PART * 12)
    program = """
import os, resource, sys
from pathlib import Path
from tonnage_agent.keeper.s3 import open_client
client = open_client(sys.argv[1])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
client.put_file("big", Path(sys.argv[2]))
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""
    ended = subprocess.run(
        [sys.executable, "-c", program, f"s3://{bucket.name}/p", str(tmp_path / "big")],
        env={**os.environ, **bucket.environment},
        capture_output=True,
        text=True,
        check=True,
    )

    assert int(ended.stdout) < 150  # MiB, of 192: four parts, and what sending them copies
    assert bucket.client("p").size("big") == PART * 12


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"AWS_SECRET_ACCESS_KEY": "wrong"}, "the secret key is wrong"),
        ({"AWS_ACCESS_KEY_ID": "nobody"}, "the access key is unknown to this server"),
    ],
)
def test_wrong_keys_are_named(bucket: Bucket, change: dict[str, str], message: str) -> None:
    with pytest.raises(PlaceError, match=message):
        bucket.client(**change).find()


def test_a_bucket_that_does_not_exist_is_named(bucket: Bucket) -> None:
    from dataclasses import replace

    with pytest.raises(PlaceError, match=r"404 NoSuchBucket; the bucket does not exist"):
        replace(bucket, name="no-such-bucket").client().find()


def test_left_uploads_and_files_of_earlier_attempts_are_swept(bucket: Bucket, tmp_path: Path) -> None:
    client = bucket.client()
    client._uploads.begin("ckpt/data/step-0000000009.attempt-0001-dead/state")
    client._uploads.begin("ckpt/data/step-0000000009.attempt-0003-live/state")
    left = bucket.folder / "ckpt/data/step-0000000009.attempt-0001-dead"
    left.mkdir(parents=True)
    (left / "state").write_bytes(b"x")
    os.utime(left / "state", (1, 1))
    fresh = bucket.folder / "ckpt/data/step-0000000009.attempt-0001-slow"
    fresh.mkdir(parents=True)
    (fresh / "state").write_bytes(b"x")

    swept = bucket.place(tmp_path).sweep(3)

    assert swept == ["data/step-0000000009.attempt-0001-dead/"]
    assert [key for key, _ in client._uploads.unfinished("ckpt/")] == [
        "ckpt/data/step-0000000009.attempt-0003-live/state"
    ]


@pytest.mark.parametrize(
    ("bucket_name", "environment", "expected"),
    [
        ("b", {}, Address("b", "us-east-1", True, "b.s3.us-east-1.amazonaws.com", "/")),
        (
            "b",
            {"AWS_REGION": "cn-north-1"},
            Address("b", "cn-north-1", True, "b.s3.cn-north-1.amazonaws.com.cn", "/"),
        ),
        ("my.b", {}, Address("my.b", "us-east-1", True, "s3.us-east-1.amazonaws.com", "/my.b/")),
        (
            "b",
            {"AWS_ENDPOINT_URL": "http://minio:9000", "AWS_DEFAULT_REGION": "eu"},
            Address("b", "eu", False, "minio:9000", "/b/"),
        ),
        (
            "b",
            {"AWS_ENDPOINT_URL_S3": "https://s3.example.com/root/", "AWS_ENDPOINT_URL": "http://other"},
            Address("b", "us-east-1", True, "s3.example.com", "/root/b/"),
        ),
        (
            "b",
            {"AWS_ENDPOINT_URL": "https://r2.example.com", "AWS_VIRTUAL_HOSTED_STYLE_REQUEST": "true"},
            Address("b", "us-east-1", True, "b.r2.example.com", "/"),
        ),
    ],
)
def test_a_bucket_is_addressed_as_its_server_wants(
    bucket_name: str, environment: dict[str, str], expected: Address
) -> None:
    assert address_of(bucket_name, environment) == expected


@pytest.mark.parametrize("endpoint", ["minio:9000", "ftp://x", "http://"])
def test_an_endpoint_that_is_none_is_refused(endpoint: str) -> None:
    with pytest.raises(PlaceError, match="expected http://host:port"):
        address_of("b", {"AWS_ENDPOINT_URL": endpoint})


def through(bucket: Bucket, proxy: Proxy, staging: Path) -> BucketPlace:
    client = bucket.client(AWS_ENDPOINT_URL=proxy.url)
    return BucketPlace(client, Staging(client.url, staging))


def test_a_training_script_that_keeps_its_state_in_a_bucket_survives_kills(
    bucket: Bucket, tmp_path: Path
) -> None:
    import random
    import subprocess
    import sys
    import time

    example = Path(__file__).parents[3] / "examples" / "sdk-python"
    environment = {
        **os.environ,
        **bucket.environment,
        "TONNAGE_CHECKPOINTS": f"s3://{bucket.name}/run/ckpt",
        "TONNAGE_CHECKPOINT_EVERY": "0",
        "TMPDIR": str(tmp_path),
    }
    chance = random.Random(5)
    command = [sys.executable, str(example / "train.py")]
    place = open_place(environment["TONNAGE_CHECKPOINTS"], environment)
    for _ in range(3):
        known, give_up = place.names(), time.monotonic() + 60
        process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
        while place.names() == known and time.monotonic() < give_up:
            time.sleep(0.02)  # however slow the machine is, something was saved
        time.sleep(0.3 * chance.random())
        process.kill()
        process.communicate()

    ended = subprocess.run(
        command,
        env={**environment, "TONNAGE_CHECKPOINT_EVERY": "1"},
        capture_output=True,
        text=True,
        check=True,
    )

    assert ended.stdout == (example / "expected.txt").read_text()
    assert "resumed from step" in ended.stderr
    assert not list(tmp_path.rglob("save-*"))  # what killed processes had staged is gone
