"""`tonnage init`: starters that are valid, manifests taken over, nothing replaced in silence."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tonnage.cli import init as module
from tonnage.cli.init import init
from tonnage.errors import RefusedError, UsageError
from tonnage.spec.checking import check
from tonnage.spec.run import Run

JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  podReplacementPolicy: Failed
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: t
        image: x:1
        command: [python, t.py]
        resources: {requests: {nvidia.com/gpu: 1, memory: 1Gi}}
"""


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "my-project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    Path("job.yaml").write_text(JOB)


def call(*words: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(init, words, env={"COLUMNS": "80"}, input=stdin, standalone_mode=False)


@pytest.mark.parametrize("kind", ["run", "team", "cluster"])
def test_a_starter_of_each_kind_is_written_and_has_no_mistake(kind: str) -> None:
    result = call("--kind", kind)
    checked = check(Path(f"{kind}.yaml").read_bytes(), f"{kind}.yaml")

    assert result.return_value == 0
    assert (checked.mistakes, checked.remarks) == ([], [])
    assert f"tonnage check {kind}.yaml" in result.stderr


def test_flags_fill_the_starter_in() -> None:
    call(
        "--name",
        "sft",
        "--command",
        "torchrun t.py --x 'a: b'",
        "--gpus",
        "8xH100",
        "--image",
        "r/x:1",
        "-f",
        "a.yaml",
    )
    run = check(Path("a.yaml").read_bytes(), "a.yaml").values[0]

    assert isinstance(run, Run)
    assert (run.metadata.name, str(run.spec.gpus), run.spec.image) == ("sft", "8 x h100", "r/x:1")
    assert run.spec.command == ("torchrun", "t.py", "--x", "a: b")


@pytest.mark.parametrize("gpus", ["1", "8 x h100", "24GB..80GB"])
def test_the_comments_of_a_starter_stand_in_one_column(gpus: str) -> None:
    lines = call("--gpus", gpus, "-f", "-").stdout.splitlines()

    commented = [line for line in lines if line.startswith(("  code", "  gpus", "  memory"))]
    assert {line.index("#") for line in commented} == {27}


def test_without_a_name_the_folder_gives_it() -> None:
    assert "name: my-project" in call("-f", "-").stdout


def test_two_questions_are_asked_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_is_terminal", lambda: True)
    result = call("-f", "-", stdin="python go.py\nmany\n8 h100\n4\n")

    assert "What should run?" in result.stderr
    assert "'many' is not a number of GPUs; expected" in result.stderr
    assert "try 8 x h100" in result.stderr
    assert "--gpus" not in result.stderr
    assert "command: python go.py" in result.stdout
    assert "gpus: 4" in result.stdout


def test_a_real_terminal_is_asked_and_a_pipe_is_not() -> None:
    ours, theirs = os.openpty()
    try:
        words = [sys.executable, "-m", "tonnage", "init", "-f", "-"]
        with subprocess.Popen(words, stdin=theirs, stderr=theirs, stdout=subprocess.PIPE, text=True) as asked:
            os.write(ours, b"python go.py\n4\n")
            assert asked.stdout is not None
            starter = asked.stdout.read()
        piped = subprocess.run(words, input="python go.py\n4\n", capture_output=True, text=True, check=True)
    finally:
        os.close(ours)
        os.close(theirs)

    assert "command: python go.py" in starter
    assert "gpus: 4" in starter
    assert "command: python train.py" in piped.stdout


def test_a_file_is_never_replaced_in_silence() -> None:
    Path("run.yaml").write_text("mine")
    result = call()

    assert isinstance(result.exception, RefusedError)
    assert Path("run.yaml").read_text() == "mine"
    assert call("--force").return_value == 0


@pytest.mark.parametrize(
    "words",
    [
        ("--gpus", "many"),
        ("--name", "No_Name"),
        ("--command", "echo 'open"),
        ("--command", ""),
        ("--from", "job.yaml", "--gpus", "1"),
        ("--from", "job.yaml", "--kind", "team"),
        ("--kind", "team", "--gpus", "1"),
    ],
)
def test_wrong_words_are_wrong_usage(words: tuple[str, ...]) -> None:
    assert isinstance(call(*words).exception, UsageError)
    assert not Path("run.yaml").exists()


def test_a_manifest_is_taken_over_and_the_truth_told() -> None:
    result = call("--from", "job.yaml")

    assert result.return_value == 0
    assert check(Path("run.yaml").read_bytes(), "run.yaml").mistakes == []
    assert "not carried   spec.podReplacementPolicy" in result.stderr
    assert "in requests only" in " ".join(result.stderr.split())
    assert max(map(len, result.stderr.splitlines())) <= 80


def test_json_says_what_was_not_carried() -> None:
    answer = json.loads(call("--from", "job.yaml", "-o", "json").stdout)

    assert answer["notCarried"] == ["spec.podReplacementPolicy"]
    assert answer["file"] == "run.yaml"


@pytest.mark.parametrize("source", ["missing.yaml", ".", "service.yaml"])
def test_what_cannot_be_taken_over_is_refused_and_nothing_written(source: str) -> None:
    Path("service.yaml").write_text("apiVersion: v1\nkind: Service\n")
    result = call("--from", source)

    assert result.return_value == 1
    assert "DOC-0" in result.stderr
    assert not Path("run.yaml").exists()


def test_a_folder_that_is_not_there_is_told() -> None:
    assert isinstance(call("-f", "no/such/run.yaml").exception, RefusedError)


def test_the_editor_is_pointed_at_a_schema_that_exists() -> None:
    assert "yaml-language-server" not in call("-f", "-").stdout
    Path("run.schema.json").write_text("{}")

    assert call("-f", "-").stdout.startswith("# yaml-language-server: $schema=./run.schema.json\n")
