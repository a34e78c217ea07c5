"""What `tonnage sandbox up` says when it is done."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from tonnage.cli.sandbox import sandbox
from tonnage.sandbox import Sandbox, SandboxRequest
from tonnage.sandbox.places import Places
from tonnage.sandbox.state import READY, STARTING


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sandbox:
    """A sandbox in a folder whose name is an attack on shells; starting it does nothing."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "a home; touch $(echo oops)"))
    places = Places.of("box")
    places.folder(".")
    request = SandboxRequest(name="box")
    found = Sandbox(
        name="box", id="0", places=places, request=request, subnet=1, binaries={"kubectl": "/bin/true"}
    )
    monkeypatch.setattr("tonnage.sandbox.lifecycle.up", lambda *_: found)
    return found


def test_the_export_line_can_be_evaluated_whatever_the_folder_is_called(made: Sandbox) -> None:
    said = CliRunner().invoke(sandbox, ["up", "--name", "box"])
    assert said.exit_code == 0, said.output
    line = said.stdout.strip()

    told = subprocess.run(
        ["sh", "-c", f'{line}\nprintf %s "$KUBECONFIG"'], capture_output=True, text=True, check=True
    )

    assert told.stdout == str(made.kubeconfig)


@pytest.mark.parametrize(("phase", "words"), [(READY, "runs already"), (STARTING, "is ready")])
def test_only_a_sandbox_that_was_ready_runs_already(made: Sandbox, phase: str, words: str) -> None:
    made.saved(phase=phase)
    said = CliRunner().invoke(sandbox, ["up", "--name", "box"])
    assert f"sandbox box {words}" in said.stderr
