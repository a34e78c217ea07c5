"""What the README shows is what happens: every console block is run, every link leads somewhere."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
README = (PROJECT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```console\n(.*?)```", README, flags=re.DOTALL)
OFFLINE = [block for block in BLOCKS if "sandbox up" not in block]
ON_A_SANDBOX = [block for block in BLOCKS if "sandbox up" in block]


def sessions(block: str) -> list[tuple[str, str]]:
    """The commands of a console block, each with the output it shows."""
    commands = re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]
    return [(command, output) for command, _, output in (part.partition("\n") for part in commands)]


def run(command: str, **environment: str) -> str:
    """Standard output of one of the README's commands, as a reader at the project's root sees it."""
    words = shlex.split(command)
    assert words[0] == "tonnage"
    finished = subprocess.run(
        [sys.executable, "-m", "tonnage", *words[1:]],
        capture_output=True,
        text=True,
        check=False,
        cwd=PROJECT,
        env={**os.environ, "COLUMNS": "80", **environment},
    )
    assert finished.returncode in (0, 1), finished.stderr
    return finished.stdout


def test_the_readme_has_something_to_run() -> None:
    assert OFFLINE
    assert ON_A_SANDBOX


@pytest.mark.parametrize("block", OFFLINE)
def test_offline_commands_show_what_the_readme_shows(block: str) -> None:
    for command, output in sessions(block):
        assert run(command).rstrip() == output.rstrip()


@pytest.mark.sandbox
@pytest.mark.parametrize("block", ON_A_SANDBOX)
def test_sandbox_commands_show_what_the_readme_shows(block: str, tmp_path: Path) -> None:
    home = {"XDG_STATE_HOME": str(tmp_path)}
    try:
        for command, output in sessions(block):
            shown = run(command, **home)
            if output:
                assert shown.rstrip() == output.rstrip()
    finally:
        run("tonnage sandbox down", **home)


@pytest.mark.parametrize(
    "page",
    ["README.md", "CONTRIBUTING.md", *sorted(f"docs/{p.name}" for p in (PROJECT / "docs").glob("*.md"))],
)
def test_links_lead_somewhere(page: str) -> None:
    text = (PROJECT / page).read_text(encoding="utf-8")
    targets = re.findall(r"\]\((?!https?:|#|mailto:)([^)#]+)[^)]*\)", text)

    assert [target for target in targets if not ((PROJECT / page).parent / target).exists()] == []


def test_every_command_is_in_the_readme() -> None:
    from tonnage.cli.main import COMMANDS

    assert [name for name in COMMANDS if f"`tonnage {name}`" not in README] == []
