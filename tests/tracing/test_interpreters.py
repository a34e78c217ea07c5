"""Which interpreters exact mode takes, and how it refuses the others."""

from __future__ import annotations

import stat
import sys
from pathlib import Path

import pytest

from tonnage.errors import UsageError
from tonnage.tracing import CannotTrace, parse_step
from tonnage.tracing.interpreter import find_interpreter
from tonnage.tracing.supported import is_proven, minor_of


def training_folder(
    folder: Path, *, torch: str | None = None, cuda: str | None = None, hip: str | None = None
) -> Path:
    """A user's file; beside it, a torch of these versions as its wheel would lay it out."""
    if torch is not None:
        package = folder / "torch"
        package.mkdir()
        (package / "__init__.py").write_text("raise RuntimeError('looked at, not imported')\n")
        lines = [
            f"__version__ = '{torch}'",
            f"cuda: Optional[str] = {cuda!r}",
            f"hip: Optional[str] = {hip!r}",
        ]
        (package / "version.py").write_text("\n".join(lines))
    file = folder / "train.py"
    file.write_text("def build(): ...\n")
    return file


def refusal(asked: str | None, file: Path) -> CannotTrace:
    with pytest.raises(CannotTrace) as caught:
        find_interpreter(asked, file)
    return caught.value


def test_a_supported_torch_is_recognised_without_importing_it(tmp_path: Path) -> None:
    file = training_folder(tmp_path, torch="2.11.0+cu130", cuda="13.0")

    found = find_interpreter(sys.executable, file)

    assert (found.torch, found.cuda) == ("2.11.0+cu130", "13.0")
    assert found.python == sys.version_info[:3]


def test_an_unknown_minor_is_refused_by_name(tmp_path: Path) -> None:
    problem = refusal(sys.executable, training_folder(tmp_path, torch="2.16.0+cu140", cuda="14.0")).problem

    assert problem.code == "TRACE-015"
    assert problem.found == "torch 2.16.0+cu140"
    assert problem.expected is not None
    assert "2.11" in problem.expected


@pytest.mark.parametrize(("hip", "build"), [(None, "CPU-only"), ("6.4", "ROCm")])
def test_a_torch_without_cuda_is_refused(tmp_path: Path, hip: str | None, build: str) -> None:
    problem = refusal(sys.executable, training_folder(tmp_path, torch="2.11.0+cpu", hip=hip)).problem

    assert problem.code == "TRACE-014"
    assert problem.found is not None
    assert build in problem.found


def test_an_unknown_cuda_major_is_refused(tmp_path: Path) -> None:
    problem = refusal(sys.executable, training_folder(tmp_path, torch="2.11.0+cu118", cuda="11.8")).problem

    assert (problem.code, problem.found) == ("TRACE-016", "CUDA 11.8")


def test_an_interpreter_without_torch_is_refused(tmp_path: Path) -> None:
    problem = refusal(sys.executable, training_folder(tmp_path)).problem

    assert problem.code == "TRACE-013"
    assert problem.where == sys.executable
    assert problem.hint is not None


def test_an_interpreter_that_is_not_there_is_named(tmp_path: Path) -> None:
    problem = refusal("/no/such/python", training_folder(tmp_path)).problem

    assert (problem.code, problem.where) == ("TRACE-010", "/no/such/python")


def test_a_program_that_is_no_python_is_refused(tmp_path: Path) -> None:
    problem = refusal("true", training_folder(tmp_path)).problem

    assert (problem.code, problem.found) == ("TRACE-011", "exit status 0, nothing printed")


def test_what_a_broken_interpreter_says_is_passed_on(tmp_path: Path) -> None:
    broken = tmp_path / "python3"
    broken.write_text("#!/bin/sh\necho starting\necho 'no module named encodings' >&2\nexit 1\n")
    broken.chmod(broken.stat().st_mode | stat.S_IXUSR)

    problem = refusal(str(broken), training_folder(tmp_path)).problem

    assert (problem.code, problem.found) == ("TRACE-011", "exit status 1: no module named encodings")


def test_an_old_python_is_refused_for_its_age(tmp_path: Path) -> None:
    old = tmp_path / "python3.8"
    old.write_text(
        '#!/bin/sh\necho \'{"python": [3, 8, 20], "torch": "2.4.1", "cuda": "12.1", "hip": null}\'\n'
    )
    old.chmod(old.stat().st_mode | stat.S_IXUSR)

    problem = refusal(str(old), training_folder(tmp_path)).problem

    assert (problem.code, problem.found, problem.expected) == ("TRACE-012", "3.8.20", "3.10 or newer")


def test_without_an_interpreter_named_those_looked_at_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    monkeypatch.delenv("CONDA_PREFIX", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))

    problem = refusal(None, training_folder(tmp_path)).problem

    assert problem.code == "TRACE-013"
    assert problem.found == f"none in {sys.executable}"


def test_without_an_interpreter_named_our_own_is_taken_if_it_has_torch(tmp_path: Path) -> None:
    assert (
        find_interpreter(None, training_folder(tmp_path, torch="2.10.0", cuda="12.8")).path == sys.executable
    )


@pytest.mark.parametrize(
    ("text", "file", "function"),
    [
        ("train.py:build", "train.py", "build"),
        ("train.py", "train.py", "build"),
        ("a:b/t.py:go", "a:b/t.py", "go"),
    ],
)
def test_a_step_is_a_file_and_a_function(text: str, file: str, function: str) -> None:
    assert parse_step(text) == (Path(file), function)


@pytest.mark.parametrize("text", ["", ":build", "train.py:", "train.py:not a name"])
def test_what_is_no_step_is_refused(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_step(text)
    assert caught.value.problem.code == "TRACE-001"


def test_a_pair_of_versions_is_proven_only_as_reported() -> None:
    assert minor_of("2.11.0+cu130") == "2.11"
    assert is_proven("2.11.0+cu130", "13.0")
    assert not is_proven("2.11.0+cu128", "12.8")
    assert not is_proven("2.99.0", "13.0")
