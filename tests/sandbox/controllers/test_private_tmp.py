import subprocess
from pathlib import Path

import pytest

from tonnage.errors import EnvironmentProblem
from tonnage.sandbox.controllers import isolating
from tonnage.sandbox.controllers.isolating import require_private_tmp, with_private_tmp


def a_program(folder: Path, text: str) -> Path:
    program = folder / "see"
    program.write_text(f"#!/bin/sh\n{text}\n")
    program.chmod(0o755)
    return program


@pytest.fixture
def allowed() -> None:
    try:
        require_private_tmp("a test")
    except EnvironmentProblem as refused:
        pytest.skip(str(refused))


def test_a_program_sees_the_given_folder_as_its_tmp(tmp_path, allowed):
    """The program itself lies below /tmp, which the mount hides from it."""
    private = tmp_path / "private"
    private.mkdir()
    (private / "witness").write_text("here")
    program = a_program(tmp_path, 'cat /tmp/witness; echo " $1"; touch /tmp/left')

    seen = subprocess.run(
        with_private_tmp(program, ["argument"], private), capture_output=True, text=True, check=True
    )

    assert seen.stdout == "here argument\n"
    assert (private / "left").exists()
    assert not Path("/tmp/left").exists()


def test_a_machine_without_the_program_is_told_what_to_install(monkeypatch):
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(EnvironmentProblem) as caught:
        require_private_tmp("Training operator v1")

    assert caught.value.problem.code == "BOX-212"
    assert caught.value.problem.hint == "install the package util-linux"


def test_a_machine_that_forbids_namespaces_is_told_the_ways_out(monkeypatch):
    monkeypatch.setattr(isolating, "_unshare", lambda: ["sh", "-c", "echo not permitted >&2; exit 1"])
    with pytest.raises(EnvironmentProblem) as caught:
        require_private_tmp("Training operator v1")

    assert caught.value.problem.found == "not permitted"
    assert "leave training-operator out of --with" in caught.value.problem.hint
