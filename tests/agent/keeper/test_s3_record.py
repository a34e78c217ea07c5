"""An agent whose place of record is a bucket: record and samples are there, and its loss is only said."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

SOURCES = Path(__file__).parents[3] / "src"


def run_agent(environment: dict[str, str], place: str, *command: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("TONNAGE_", "AWS_"))}
    settings = {
        "TONNAGE_RECORD": place,
        "TONNAGE_ATTEMPT": "2",
        "TONNAGE_NODE": "1",
        "TONNAGE_SAMPLE_SECONDS": "0.1",
    }
    return subprocess.run(
        [sys.executable, "-m", "tonnage_agent", "run", "--", *command], capture_output=True, text=True, check=False,
        env={**kept, **environment, **settings, "PYTHONPATH": str(SOURCES)}, timeout=120,
    )  # fmt: skip


def test_record_and_samples_are_in_the_bucket(bucket):
    finished = run_agent(
        bucket.environment, f"s3://{bucket.name}/runs/a", "sh", "-c", "echo hello; sleep 0.6; exit 3"
    )

    folder = bucket.folder / "runs/a/attempt-2/node-1"
    record = json.loads((folder / "record.json").read_bytes())
    samples = [json.loads(line) for line in (folder / "samples.jsonl").read_text().splitlines()]
    assert (finished.returncode, finished.stderr) == (3, "")
    assert (record["state"], record["exitCode"], record["log"]) == ("ended", 3, ["hello"])
    assert len(samples) > 3


def test_a_bucket_that_refuses_ends_nothing_and_is_said(bucket):
    environment = {**bucket.environment, "AWS_SECRET_ACCESS_KEY": "wrong"}
    finished = run_agent(environment, f"s3://{bucket.name}/runs/b", "sh", "-c", "exit 4")

    assert finished.returncode == 4
    assert finished.stderr.startswith(f"tonnage: record in s3://{bucket.name}/runs/b/attempt-2/node-1: ")
