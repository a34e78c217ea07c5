"""A real S3 server on this machine, for whoever asks: versitygw over a private folder, one per test process."""

from __future__ import annotations

import http.client
import os
import signal
import socket
import subprocess
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import pytest
from keeper_builders import Bucket

from tonnage.sandbox.components import VERSITYGW
from tonnage.sandbox.obtaining import obtain
from tonnage.sandbox.showing import Show

ACCESS, SECRET = "tonnage", "a-secret-for-tests"


@pytest.fixture(scope="session")
def s3_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, str]]:
    """The environment under which the server is reached."""
    program = obtain([VERSITYGW], Show())["versitygw"]
    home = tmp_path_factory.mktemp("s3")
    (home / "iam").mkdir()
    (home / "data").mkdir()
    port = _free_port()
    command = [program, "--port", f"127.0.0.1:{port}", "--iam-dir", home / "iam", "--region", "us-east-1"]
    with (home / "log").open("wb") as log:
        process = subprocess.Popen(
            [*command, "--health", "/health", "posix", home / "data"],
            env={"ROOT_ACCESS_KEY": ACCESS, "ROOT_SECRET_KEY": SECRET, "PATH": os.environ["PATH"]},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        _wait(process, port, home / "log")
        yield {
            "AWS_ACCESS_KEY_ID": ACCESS,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
            "S3_DATA": str(home / "data"),
        }
    finally:
        process.send_signal(signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(10)
        process.kill()
        process.wait()


@pytest.fixture
def bucket(s3_server: Mapping[str, str]) -> Bucket:
    """A bucket of the test's own, and the folder in which the server keeps it."""
    name = f"test-{uuid.uuid4().hex[:12]}"
    made = Bucket(name, dict(s3_server), Path(s3_server["S3_DATA"]) / name)
    made.create()
    return made


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _wait(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and process.poll() is None:
        with suppress(OSError):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=1)
            connection.request("GET", "/health")
            if connection.getresponse().status == 200:
                return
        time.sleep(0.05)
    raise AssertionError(f"versitygw did not start: {log.read_text()}")
