"""Bad input is answered before anything starts: what, where, found and expected, what to try, and a code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from tonnage.cli.sandbox import sandbox as command
from tonnage.errors import TonnageError
from tonnage.sandbox.request import SandboxRequest, check_request


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


def refused(*words: str) -> TonnageError:
    result = CliRunner().invoke(command, words)
    assert isinstance(result.exception, TonnageError), result.output
    return result.exception


@pytest.mark.parametrize("name", ["", "A", "-a", "a-", "a" * 21, "../x", "a/b", "a b", "ü"])
def test_a_name_that_could_leave_its_folder_or_break_a_file_is_refused(name: str) -> None:
    for words in (("up",), ("down",), ("kubeconfig",), ("status",)):
        assert refused(*words, "--name", name).problem.code == "BOX-002"


def test_all_mistakes_of_a_request_are_named_at_once() -> None:
    error = refused("up", "--name", "X", "--nodes", "8xh10", "--with", "queue", "--from", "/nowhere.json")

    assert [problem.code for problem in error.problems] == ["BOX-002", "BOX-005", "BOX-001", "BOX-004"]
    assert error.exit_code == 2


def test_a_controller_with_a_slip_is_answered_with_the_right_name() -> None:
    assert "did you mean kueue?" in str(refused("up", "--with", "jobset,keue"))


@pytest.mark.parametrize("count", ["-1", "9", "1000"])
def test_a_number_of_real_nodes_that_cannot_be_is_refused(count: str) -> None:
    assert refused("up", "--real-nodes", count).problem.code == "BOX-003"


def test_what_is_not_there_is_said_with_how_to_get_it() -> None:
    assert "tonnage sandbox up --name other" in str(refused("kubeconfig", "--name", "other"))
    assert refused("load", "image.tar").problem.code == "BOX-010"


def test_taking_down_what_is_not_there_is_no_error() -> None:
    result = CliRunner().invoke(command, ["down"])

    assert result.exit_code == 0
    assert "nothing to do" in result.output
    assert json.loads(CliRunner().invoke(command, ["down", "--all", "-o", "json"]).output) == {"removed": []}


def test_no_sandbox_is_an_answer_too() -> None:
    assert "tonnage sandbox up" in CliRunner().invoke(command, ["status"]).output
    assert json.loads(CliRunner().invoke(command, ["status", "-o", "json"]).output) == {"sandboxes": []}


def test_a_refused_request_leaves_no_file(tmp_path: Path) -> None:
    refused("up", "--nodes", "nonsense")

    assert list(tmp_path.iterdir()) == []


def test_a_request_that_makes_sense_is_let_through() -> None:
    check_request(SandboxRequest(nodes="8xh100=50,cpu=10", controllers=("kueue", "jobset")))


def test_help_explains_how_to_say_nodes() -> None:
    text = CliRunner().invoke(command, ["up", "--help"]).output

    assert "8xa100-80=2+mig=1g.10gb" in text
    assert "tonnage.dev/runs-for" in text
