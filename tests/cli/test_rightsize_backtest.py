"""`tonnage rightsize backtest` as people and scripts call it."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HEADER = "signature,start,end,requested_bytes,peak_bytes"
GIB = 2**30


def call(*words: str, stdin: bytes = b"") -> subprocess.CompletedProcess[str]:
    finished = subprocess.run(
        [sys.executable, "-m", "tonnage", "rightsize", "backtest", *words],
        capture_output=True,
        input=stdin,
        check=False,
        env={**os.environ, "COLUMNS": "80"},
        timeout=120,
    )
    return subprocess.CompletedProcess(
        words, finished.returncode, finished.stdout.decode(), finished.stderr.decode()
    )


def a_history(num_runs: int = 20) -> str:
    """A signature that needs 2 GiB, in its tenth run 3."""
    rows = [
        f"train,{100 * place},{100 * place + 90},{8 * GIB},{(3 if place == 9 else 2) * GIB}"
        for place in range(num_runs)
    ]
    return "\n".join([HEADER, *rows]) + "\n"


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    path = tmp_path / "tasks.csv"
    path.write_text(a_history())
    return path


def figures(told: str) -> Any:
    return json.loads(told)["time_to_failure"]["1.0"]["min_history"]["3"]


def test_json_has_every_policy_at_every_history_and_time_to_failure(tasks: Path) -> None:
    told = json.loads(call(str(tasks), "-o", "json").stdout)

    assert (told["tasks"], told["signatures"]) == (20, 1)
    assert list(told["time_to_failure"]) == ["1.0", "0.5"]
    for by_history in told["time_to_failure"].values():
        assert list(by_history["min_history"]) == ["1", "3", "10"]
        for policies in by_history["min_history"].values():
            assert set(policies) == {"tonnage", "krr", "vpa", "rule_of_thumb", "user"}
            for score in policies.values():
                assert set(score) == {"oom_rate", "waste_gib_hours", "retries", "first_attempts"}


def test_figures_are_those_worked_out_by_hand(tasks: Path) -> None:
    rule = figures(call(str(tasks), "-o", "json").stdout)["rule_of_thumb"]

    hours = 90 / 3600
    # The tenth run dies and tries again, so the eleventh starts before its peak is known.
    waste = 6 * 0.3 + (2.3 + 1.6) + 0.3 + 9 * (3.45 - 2)
    assert rule["first_attempts"] == 17
    assert rule["oom_rate"] == pytest.approx(1 / 17)
    assert rule["retries"] == 1
    assert rule["waste_gib_hours"] == pytest.approx(waste * hours)


def test_gzip_and_standard_input_say_the_same_as_the_file(tasks: Path, tmp_path: Path) -> None:
    packed = tmp_path / "tasks.csv.gz"
    packed.write_bytes(gzip.compress(tasks.read_bytes()))
    told = call(str(tasks), "-o", "json").stdout

    assert call(str(packed), "-o", "json").stdout == told
    assert call("-", "-o", "json", stdin=tasks.read_bytes()).stdout == told
    assert call("-", "-o", "json", stdin=packed.read_bytes()).stdout == told


def test_people_see_a_table_and_what_it_means(tasks: Path) -> None:
    told = call(str(tasks))

    assert told.returncode == 0
    assert "20 runs of 1 signature" in told.stdout
    assert "rule of thumb" in told.stdout
    assert "As requested: no deaths" in told.stdout
    assert max(len(line) for line in told.stdout.splitlines()) <= 80


def test_only_the_policies_asked_for_are_replayed(tasks: Path) -> None:
    told = call(str(tasks), "--policy", "rule-of-thumb", "--policy", "vpa", "-o", "json").stdout

    assert set(figures(told)) == {"rule_of_thumb", "vpa"}
    assert call(str(tasks), "--policy", "vpa").returncode == 0


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "SIZE-001"),
        (HEADER.encode(), "SIZE-003"),
        (f"{HEADER}\na,0,1,1,many\n".encode(), "SIZE-002"),
        (f"{HEADER}\na,0,1,1,1\n".encode(), "SIZE-006"),
        (f"{HEADER}\na,0,9,1,1\na,1,9,1,1\n".encode(), "SIZE-006"),
        (b"\x89PNG\r\n\x1a\n\x00\xff", "SIZE-004"),
        (gzip.compress(a_history().encode(), mtime=0)[:-20], "SIZE-004"),
    ],
)
def test_what_cannot_be_replayed_is_refused_with_a_reason(content: bytes, code: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.csv"
    path.write_bytes(content)
    told = call(str(path), "-o", "json")

    assert told.returncode == 1
    assert json.loads(told.stdout)["errors"][0]["code"] == code
    assert "Traceback" not in call(str(path)).stderr


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    told = call(str(tmp_path / "none.csv"))

    assert told.returncode == 1
    assert "SIZE-005" in told.stderr
