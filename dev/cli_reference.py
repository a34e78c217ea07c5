"""Write docs/cli.md from the commands' own help, so that the page cannot say anything else.

python dev/cli_reference.py            write it
python dev/cli_reference.py --check    fail if it is stale
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from tonnage.cli.main import SETTINGS, cli

PAGE = Path(__file__).parent.parent / "docs" / "cli.md"
WIDTH = 80
NAMES = {"help_option_names": SETTINGS["help_option_names"]}
HEADER = """\
# Command line

Written from the commands' own `--help` by `python dev/cli_reference.py`; a test fails when it is stale.

Exit codes: 0 fine, 1 findings or refusal, 2 usage, 3 cluster unreachable, 70 our bug.
With `-o json`, errors too are JSON on standard output: `{"errors": [...]}`, each with
`code`, `what`, `where`, `found`, `expected` and `try`, as far as they apply.
"""


def helps(
    command: click.Command, path: tuple[str, ...], parent: click.Context | None
) -> Iterator[tuple[str, str]]:
    """Each command's full name and help text, parents first."""
    context = click.Context(
        command, info_name=path[-1], parent=parent, terminal_width=WIDTH, max_content_width=WIDTH, **NAMES
    )
    yield " ".join(path), command.get_help(context)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            assert child is not None
            yield from helps(child, (*path, name), context)


def page() -> str:
    """The whole page."""
    sections = [f"## {name}\n\n```text\n{text}\n```\n" for name, text in helps(cli, ("tonnage",), None)]
    return "\n".join([HEADER, *sections])


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit(
            0
            if PAGE.read_text(encoding="utf-8") == page()
            else "docs/cli.md is stale: python dev/cli_reference.py"
        )
    PAGE.write_text(page(), encoding="utf-8")
