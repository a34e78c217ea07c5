"""`tonnage forecast`: what it reads, what it refuses, and what it prints."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

GIB = 2**30


def run(*words: str | Path, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "tonnage", "forecast", *map(str, words)],
        capture_output=True,
        check=False,
        input=stdin,
    )


def a_leak(hours: int = 10) -> str:
    """20 GiB and 3 GiB per hour, a measurement each minute."""
    rows = (f"{minute * 60},{(20 + minute / 20 + minute % 3 / 10) * GIB:.0f}" for minute in range(hours * 60))
    return "time,bytes\n" + "\n".join(rows) + "\n"


@pytest.fixture
def leak(tmp_path: Path) -> Path:
    path = tmp_path / "leak.csv"
    path.write_text(a_leak())
    return path


def test_json_has_the_verdict_the_evidence_and_the_range(leak: Path) -> None:
    finished = run(leak, "--limit", "64Gi", "-o", "json")
    said = json.loads(finished.stdout)

    assert finished.returncode == 0
    assert said["verdict"] == "leaking"
    assert said["evidence"]
    until = said["limit_in_seconds"]
    assert until["p10"] < (64 - 50) / 3 * 3600 < until["p90"]
    assert until["p10"] < until["p50"] < until["p90"]


def test_where_no_end_is_in_sight_the_range_is_null(tmp_path: Path) -> None:
    path = tmp_path / "flat.csv"
    path.write_text("time,bytes\n" + "".join(f"{n},{5 * GIB + n % 5}\n" for n in range(300)))
    said = json.loads(run(path, "--limit", "64Gi", "-o", "json").stdout)

    assert said["verdict"] == "stable"
    assert said["limit_in_seconds"] is None


def test_text_begins_with_the_verdict_and_says_what_to_do(leak: Path) -> None:
    lines = run(leak, "--limit", "64Gi").stdout.decode().splitlines()

    assert lines[0].endswith("leaking")
    assert lines[1].startswith("  limit in ")
    assert "most likely" in lines[1]
    assert any(line.startswith("  do ") and "checkpoint" in line for line in lines)
    assert max(map(len, lines)) <= max(80, len(lines[0]))


def test_spikes_come_with_their_phase_and_both_remedies(tmp_path: Path) -> None:
    path = tmp_path / "spiky.csv"
    saving = [n % 200 < 6 for n in range(1000)]
    rows = (
        f"{n * 10},{(40 if s else 20) * GIB},{'checkpoint' if s else 'train'}" for n, s in enumerate(saving)
    )
    path.write_text("time,bytes,phase\n" + "\n".join(rows))
    said = json.loads(run(path, "--limit", "64Gi", "-o", "json").stdout)

    assert said["verdict"] == "spiky"
    assert said["spikes"]["phase"] == "checkpoint"
    assert said["spikes"]["height_bytes"] == 20 * GIB
    assert said["remedies"][0].startswith("flatten them: save in shards")
    assert "memory: 44Gi" in said["remedies"][1]


def test_standard_input_gzip_disorder_gaps_and_repeats_are_read_and_told(leak: Path) -> None:
    header, *rows = leak.read_text().splitlines()
    messy = "\n".join([header, *reversed(rows), "60,1", "7,NaN", "8,", ""])
    finished = run("-", "--limit", "64Gi", "-o", "json", stdin=gzip.compress(messy.encode()))
    said = json.loads(finished.stdout)

    assert said["verdict"] == "leaking"
    assert said["measurements"] == len(rows)
    assert said["notes"] == [
        "2 rows without a value left out",
        "rows sorted by time",
        "1 row of a time seen before: the highest counts",
    ]


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        ("", "FCT-004", "the file is empty"),
        ("time,bytes\n", "FCT-004", "no row has a time and a value"),
        ("when,what\n1,2\n", "FCT-005", "when,what"),
        ("1,2\n3,4\n", "FCT-005", "time,bytes as the first line"),
        ("time,bytes\n1,-5\n", "FCT-007", "bytes is negative"),
        ("time,bytes\n1,much\n", "FCT-007", "much"),
        ("time,bytes\n1,inf\n", "FCT-007", "inf"),
        ("time,bytes\n2026-01-01,5\n", "FCT-006", "2026-01-01"),
        ("\x1f\x8bbroken", "FCT-003", "gzip"),
    ],
)
def test_bad_files_are_refused_with_their_line_and_code(
    tmp_path: Path, text: str, code: str, words: str
) -> None:
    path = tmp_path / "bad.csv"
    path.write_bytes(text.encode("latin-1"))
    finished = run(path, "--limit", "64Gi")
    said = " ".join(finished.stderr.decode().split())

    assert finished.returncode == 1
    assert code in said
    assert words in said
    assert b"Traceback" not in finished.stderr


def test_every_mistake_is_told_and_many_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "bad.csv"
    path.write_text("time,bytes\n" + "1,-1\n" * 9)
    errors = json.loads(run(path, "--limit", "1Gi", "-o", "json").stdout)["errors"]

    assert [error["where"] for error in errors[:5]] == [f"{path}:{line}" for line in range(2, 7)]
    assert "4 more rows" in errors[5]["what"]


@pytest.mark.parametrize("limit", ["much", "0", "-1Gi", ""])
def test_a_limit_that_is_none_is_refused(leak: Path, limit: str) -> None:
    finished = run(leak, f"--limit={limit}")

    assert finished.returncode == 2
    assert b"FCT-001" in finished.stderr


def test_one_measurement_is_not_enough_and_no_mistake(tmp_path: Path) -> None:
    path = tmp_path / "one.csv"
    path.write_text("time,bytes\n5,1024\n")
    finished = run(path, "--limit", "1Gi", "-o", "json")

    assert finished.returncode == 0
    assert json.loads(finished.stdout)["verdict"] == "not enough data"


@pytest.mark.parametrize("name", ["a.png", "a.svg"])
def test_a_picture_is_drawn(leak: Path, tmp_path: Path, name: str) -> None:
    target = tmp_path / name
    assert run(leak, "--limit", "64Gi", "--plot", target).returncode == 0

    begin = target.read_bytes()[:4]
    assert begin == (b"\x89PNG" if name.endswith("png") else b"<svg")


def test_a_picture_of_another_kind_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    finished = run(tmp_path / "missing.csv", "--limit", "1Gi", "--plot", tmp_path / "a.pdf")

    assert finished.returncode == 2
    assert b"FCT-008" in finished.stderr
