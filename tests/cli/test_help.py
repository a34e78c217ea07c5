"""Help looks good in a narrow and in a wide terminal: no line is too long, no sentence is cut off."""

from __future__ import annotations

import click
import pytest
from click.testing import CliRunner

from tonnage.cli.main import SETTINGS, LazyGroup, cli


def calls(group: click.Group, *words: str) -> list[tuple[str, ...]]:
    """Every command of a group and of the groups in it."""
    found: list[tuple[str, ...]] = [words]
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        found += calls(command, *words, name) if isinstance(command, click.Group) else [(*words, name)]
    return found


@pytest.mark.parametrize("columns", [80, 160])
@pytest.mark.parametrize("words", calls(cli), ids=" ".join)
def test_help_fits_its_terminal(words: tuple[str, ...], columns: int) -> None:
    shown = CliRunner(env={"COLUMNS": str(columns)}).invoke(cli, [*words, "--help"], prog_name="tonnage")

    assert shown.exit_code == 0
    assert max(map(len, shown.stdout.splitlines())) <= min(columns, SETTINGS["max_content_width"])
    assert "..." not in shown.stdout.replace("[ARGS]...", "").replace("FILE...", "")


def test_the_table_of_commands_says_what_the_commands_say() -> None:
    """The table holds each first sentence a second time, so that --help need not import the commands."""
    assert isinstance(cli, LazyGroup)
    for name, (_, sentence) in cli.table.items():
        command = cli.get_command(click.Context(cli), name)
        assert command is not None
        assert (command.help or "").split("\n\n")[0].replace("\n", " ") == sentence
