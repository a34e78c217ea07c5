"""The `tonnage` command: a table of commands, each imported only when it runs.

`--help` must cost little more than starting Python, so this module imports click and nothing else of weight; a
command's module is named here with its one-line help and loaded on use.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Mapping
from typing import Any

import click

from tonnage import __version__
from tonnage.cli.failing import exit_with

COMMANDS: Mapping[str, tuple[str, str]] = {
    "init": (
        "tonnage.cli.init:init",
        "Write a commented starter document, or the Run for an existing manifest.",
    ),
    "check": ("tonnage.cli.check:check", "Report every mistake in Run, Team and Cluster documents at once."),
    "schema": ("tonnage.cli.schema:schema", "Print the JSON schema of a document kind, for editors."),
    "estimate": (
        "tonnage.cli.estimate:estimate",
        "Say what a training step needs of a GPU, before one is held.",
    ),
    "plan": (
        "tonnage.cli.plan:plan",
        "Say whether a run fits, where, when and for how much, before it starts.",
    ),
    "run": ("tonnage.cli.run:run", "Run a training, and keep it alive until it is finished."),
    "ps": ("tonnage.cli.runs:ps", "List the runs started from this machine, with who keeps them alive."),
    "watch": (
        "tonnage.cli.runs:watch",
        "Show a run live: steps, memory, money, what is safe, and what happened.",
    ),
    "logs": ("tonnage.cli.runs:logs", "Print what a run has printed, all nodes or one."),
    "stop": ("tonnage.cli.runs:stop", "End a run; it gets its grace period to save, and can be resumed."),
    "resume": (
        "tonnage.cli.runs:resume",
        "Go on with a run that was stopped, suspended or failed, from its newest checkpoint.",
    ),
    "forecast": (
        "tonnage.cli.forecast:forecast",
        "Say whether memory leaks, and when it reaches its limit.",
    ),
    "rightsize": (
        "tonnage.cli.rightsize:rightsize",
        "Say which limits past runs ask for, and what each way of choosing them costs.",
    ),
    "snapshot": ("tonnage.cli.snapshot:snapshot", "Show or save everything a cluster knows at this instant."),
    "doctor": ("tonnage.cli.doctor:doctor", "Say what a cluster can do for you, and why not."),
    "sandbox": ("tonnage.cli.sandbox:sandbox", "Run a real Kubernetes with GPU nodes on this machine."),
}

SETTINGS: dict[str, Any] = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class LazyGroup(click.Group):
    """A group that knows its commands' names and one-line helps without importing them."""

    def __init__(
        self, *args: Any, commands: Mapping[str, tuple[str, str]] | None = None, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.table = commands or {}

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.table:
            return None
        module, _, attribute = self.table[cmd_name][0].partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, help_) for name, (_, help_) in self.table.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in self.table and not args[0].startswith("-"):
            from difflib import get_close_matches

            near = get_close_matches(args[0], self.table, n=1)
            hint = f"Did you mean {near[0]!r}?" if near else f"Commands: {', '.join(self.table)}."
            ctx.fail(f"No such command {args[0]!r}. {hint}")
        return super().resolve_command(ctx, args)


@click.group(cls=LazyGroup, commands=COMMANDS, context_settings=SETTINGS)
@click.version_option(__version__, "--version", message="tonnage %(version)s")
def cli() -> None:
    """Run ML training on Kubernetes without OOM kills, lost work, endless pending or surprise bills.

    Every command that answers takes -o json, and -h shows its own help.
    """


def main() -> None:
    """Entry point of `tonnage` and `kubectl-tonnage`: every failure becomes a clear message and an exit code."""
    try:
        code = cli.main(prog_name=_program_name(), standalone_mode=False)
        sys.exit(code if isinstance(code, int) else 0)
    except Exception as failure:
        sys.exit(exit_with(failure))
    except KeyboardInterrupt:
        click.echo("interrupted", err=True)
        sys.exit(130)


def _program_name() -> str:
    # kubectl runs its plugins as `kubectl-NAME`; its users type `kubectl NAME`.
    return "kubectl tonnage" if os.path.basename(sys.argv[0]) == "kubectl-tonnage" else "tonnage"  # noqa: PTH119
