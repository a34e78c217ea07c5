"""`tonnage check` as a person and as a script meet it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tonnage.cli.check import check
from tonnage.spec.reading import MAX_BYTES

GOOD = (
    "apiVersion: tonnage.dev/v1alpha1\nkind: Run\nmetadata: {name: a}\nspec: {command: a, gpus: 8 x h100}\n"
)
BAD = GOOD.replace("gpus: 8 x h100", "gpu: 8, keep: 20 mins")


def call(*words: str, columns: int = 80, stdin: str | None = None) -> Result:
    return CliRunner().invoke(check, words, env={"COLUMNS": str(columns)}, input=stdin, standalone_mode=False)


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("good.yaml").write_text(GOOD)
    Path("bad.yaml").write_text(BAD)


def test_a_good_document_is_one_calm_line() -> None:
    result = call("good.yaml")

    assert (result.return_value, result.output) == (
        0,
        "good.yaml  Run a: 1 node x 8 h100, memory auto, no checkpoints\n",
    )


def test_mistakes_have_place_field_code_and_what_to_try() -> None:
    result = call("bad.yaml")

    assert result.return_value == 1
    assert result.output.splitlines() == [
        "bad.yaml:4  spec.gpu: unknown field                                      DOC-004",
        "            did you mean spec.gpus?",
        "bad.yaml:4  spec.keep: '20 mins' is not a duration                       DOC-012",
        "            found '20 mins'; expected like 20m, 1h30m or 2d",
        "            try 20m",
        "2 mistakes; nothing was sent.",
    ]


def test_all_files_are_checked_and_one_bad_one_fails_the_call() -> None:
    result = call("good.yaml", "bad.yaml", "missing.yaml", ".")

    assert result.return_value == 1
    assert "good.yaml  Run a" in result.output
    assert result.output.endswith("4 mistakes; nothing was sent.\n")


def test_a_near_file_name_is_suggested() -> None:
    assert "did you mean good.yaml?" in call("goood.yaml").output


def test_standard_input_is_read() -> None:
    result = call("-", stdin=BAD)

    assert result.return_value == 1
    assert "standard input:4" in result.output


def test_json_has_everything() -> None:
    result = call("good.yaml", "bad.yaml", "-o", "json")
    answer = json.loads(result.output)

    assert result.return_value == 1
    assert answer["documents"][0]["name"] == "a"
    assert answer["mistakes"][0] == {
        "severity": "mistake",
        "code": "DOC-004",
        "file": "bad.yaml",
        "line": 4,
        "column": 20,
        "field": "spec.gpu",
        "what": "unknown field",
        "try": "did you mean spec.gpus?",
    }


def test_remarks_do_not_fail() -> None:
    Path("spot.yaml").write_text(GOOD.replace("8 x h100", "8 x h100, spot: true"))
    result = call("spot.yaml")

    assert result.return_value == 0
    assert "DOC-050" in result.output
    assert result.output.endswith("no mistakes, 1 remark.\n")


def test_a_large_file_is_refused_without_being_read(monkeypatch: pytest.MonkeyPatch) -> None:
    with Path("large.yaml").open("wb") as file:
        file.truncate(50_000_000)
    monkeypatch.setattr(Path, "open", lambda *_: pytest.fail("opened"))
    result = call("large.yaml")

    assert result.return_value == 1
    assert "found 50.0 MB; expected at most 1 MB" in result.output


def test_a_stream_that_never_ends_is_read_only_so_far() -> None:
    result = call("/dev/zero")

    assert result.return_value == 1
    assert f"over {MAX_BYTES // 10**6} MB" in result.output


def test_a_thousand_mistakes_are_counted_and_forty_are_shown() -> None:
    Path("many.yaml").write_text(GOOD + "".join(f"x{number}: 1\n" for number in range(1000)))
    result = call("many.yaml")

    assert "and 960 more; `-o json` lists them all" in result.output
    assert result.output.endswith("1,000 mistakes; nothing was sent.\n")


@pytest.mark.parametrize("columns", [40, 80, 100, 160])
def test_no_line_is_wider_than_the_terminal(columns: int) -> None:
    long = Path("a-rather-long-name-for-a-document-of-a-team.yaml")
    long.write_text(BAD.replace("name: a", "name: 'M\u00fcller & Co, the Third'"))
    result = call("bad.yaml", str(long), "good.yaml", columns=columns)
    lines = [line for line in result.output.splitlines() if not line.startswith(long.name)]

    assert max(len(line) for line in lines) <= min(columns, 100)


def test_calling_it_with_nothing_is_wrong_usage() -> None:
    assert CliRunner().invoke(check, []).exit_code == 2


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"a: \xff\n",
        b"spec:\n\tgpus: 8\n",
        b"[" * 100_000,
        b"a: 1\n" * 10_000_000,
        b"a: &a [x, x, x, x, x, x, x, x, x]\n"
        + b"".join(b"%c: &%c [%s]\n" % (i, i, b", ".join([b"*%c" % (i - 1)] * 9)) for i in range(98, 107)),
    ],
    ids=["empty", "not UTF-8", "tab", "deep", "fifty megabytes", "bomb"],
)
def test_a_hostile_file_is_refused_by_the_whole_command_within_a_second(
    content: bytes, tmp_path: Path
) -> None:
    """The models take most of a command's time, so a file that cannot be read must not load them."""
    file = tmp_path / "run.yaml"
    file.write_bytes(content)
    program = (
        "import sys, time; from tonnage.cli.main import cli; "
        f"code = cli.main(['check', {str(file)!r}], standalone_mode=False); "
        "print('pydantic' in sys.modules, time.process_time() < 1); sys.exit(code)"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.splitlines()[-2:] == ["1 mistake; nothing was sent.", "False True"]


def test_a_file_that_is_not_there_comes_with_advice_even_without_a_near_name() -> None:
    result = call("quite/elsewhere.yaml")

    assert result.return_value == 1
    assert "DOC-001" in result.output
    assert "check the path" in result.output
