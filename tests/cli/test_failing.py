"""How failures reach the reader."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tonnage.cli.failing import exit_with, wants_json
from tonnage.errors import Problem, RefusedError, UnreachableError, UsageError

PROBLEM = Problem(
    code="KUBE-001",
    what="the cluster does not answer",
    where="context prod",
    found="connection refused",
    expected="an API server",
    hint="is the VPN up?",
)


def test_a_problem_is_told_in_five_parts(capsys: pytest.CaptureFixture[str]) -> None:
    code = exit_with(UnreachableError(PROBLEM))

    assert code == 3
    assert capsys.readouterr().err.splitlines() == [
        "context prod  the cluster does not answer  KUBE-001",
        "    found connection refused; expected an API server",
        "    is the VPN up?",
    ]


def test_with_json_the_same_parts_go_to_standard_output(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["tonnage", "doctor", "-o", "json"])

    code = exit_with(RefusedError(PROBLEM))

    assert code == 1
    assert json.loads(capsys.readouterr().out)["errors"][0]["try"] == "is the VPN up?"


@pytest.mark.parametrize("words", [["-o", "json"], ["-ojson"], ["--output", "json"], ["--output=json"]])
def test_every_spelling_of_json_is_understood(words: list[str]) -> None:
    assert wants_json(words)
    assert not wants_json(["check", "json"])
    assert not wants_json([])


def test_a_long_problem_keeps_to_the_terminals_width(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    long = Problem(code="KUBE-013", what="the certificate " + "is not trusted " * 6, hint="look again " * 12)

    exit_with(UnreachableError(long))

    shown = capsys.readouterr().err
    assert max(map(len, shown.splitlines())) <= 60
    assert " ".join(shown.split()) == " ".join(long.as_text().split())


@pytest.mark.parametrize(
    "words", [["snapshot", "--bogus"], ["chek"], ["schema", "foo"], ["check"], ["sandbox", "upp"]]
)
def test_a_wrong_call_is_json_for_those_who_asked_for_json(words: list[str]) -> None:
    finished = subprocess.run(
        [sys.executable, "-m", "tonnage", *words, "-o", "json"], capture_output=True, text=True, check=False
    )

    assert finished.returncode == 2
    assert json.loads(finished.stdout)["errors"][0]["code"] == "CLI-001"


def test_usage_errors_exit_with_two() -> None:
    assert UsageError(PROBLEM).exit_code == 2


def test_our_own_bug_leaves_a_report_and_no_traceback(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    code = exit_with(ZeroDivisionError("division by zero"))

    shown = capsys.readouterr().err
    assert code == 70
    assert "Traceback" not in shown
    (report,) = tmp_path.glob("tonnage-bug-*.txt")
    assert str(report) in "".join(shown.split())
    assert "ZeroDivisionError" in report.read_text()


def test_an_unknown_command_suggests_the_nearest() -> None:
    finished = subprocess.run(
        [sys.executable, "-m", "tonnage", "chek"], capture_output=True, text=True, check=False
    )

    assert finished.returncode == 2
    assert "Did you mean 'check'?" in finished.stderr
