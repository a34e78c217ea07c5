"""`tonnage rightsize`: limits from what past runs used, and the proof on the user's own history.

`backtest` replays a history and says what each policy would have cost; nothing is sent anywhere and nothing changed.
"""

from __future__ import annotations

import gzip
import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

import click

SETTINGS: dict[str, Any] = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
GZIP = b"\x1f\x8b"
POLICIES = ("tonnage", "rule-of-thumb", "krr", "vpa", "user")


@click.group(context_settings=SETTINGS)
def rightsize() -> None:
    """Say which limits past runs ask for, and what each way of choosing them costs."""


@rightsize.command(context_settings=SETTINGS)
@click.argument("tasks", metavar="TASKS.csv")
@click.option(
    "--policy",
    "policies",
    multiple=True,
    type=click.Choice(POLICIES),
    help="Only this one; may be given several times. All by default.",
)
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text")
def backtest(tasks: str, policies: tuple[str, ...], output: str) -> int:
    """Replay past runs under each sizing policy.

    How many would have died, and how much memory would have been wasted.

    TASKS.csv has the columns signature,start,end,requested_bytes,peak_bytes: one row for each run that ended, times
    in seconds on one clock; runs of one signature learn from each other. It may be gzipped, and - is standard input.
    """
    from tonnage.cli.collecting import collect_rarely
    from tonnage.sizing.comparing import compare
    from tonnage.sizing.reading import read_tasks

    collect_rarely()
    name = "standard input" if tasks == "-" else tasks
    with _opened(tasks, name) as lines:
        found = compare(
            read_tasks(_decoded(lines, name), name), [word.replace("-", "_") for word in policies]
        )
    if not found.num_judged:
        _refuse(name, found.num_tasks)
    if output == "json":
        import json

        from tonnage.reporting.sizing import backtest_json

        click.echo(json.dumps(backtest_json(found), indent=2))
        return 0
    from tonnage.cli.rightsize_text import draw_backtest
    from tonnage.reporting.sizing import view_backtest

    click.echo("\n".join(draw_backtest(view_backtest(found))))
    return 0


@contextmanager
def _opened(path: str, name: str) -> Iterator[IO[str]]:
    """The file's text, unpacked where it is gzipped."""
    from tonnage.errors import EnvironmentProblem, Problem

    try:
        # The same kind of stream for both, so that its first bytes can be looked at.
        raw = open(sys.stdin.fileno() if path == "-" else path, "rb", closefd=path != "-")  # noqa: SIM115
    except OSError as error:
        what, hint = f"cannot be read: {error.strerror}", "give a CSV of past runs, or - for standard input"
        raise EnvironmentProblem(Problem(code="SIZE-005", what=what, where=name, hint=hint)) from None
    with raw:
        unpacked: Any = gzip.open(raw) if raw.peek(2)[:2] == GZIP else raw  # noqa: SIM115
        yield io.TextIOWrapper(unpacked, encoding="utf-8-sig", newline="")


def _decoded(lines: IO[str], name: str) -> Iterator[str]:
    """Lines, or what keeps them from being text."""
    from tonnage.errors import DocumentError, Problem

    try:
        yield from lines
    except UnicodeDecodeError as error:
        what = f"this is not text: byte {error.object[error.start]:#04x} is no UTF-8"
        raise DocumentError(Problem(code="SIZE-004", what=what, where=name)) from None
    except (gzip.BadGzipFile, EOFError, OSError) as error:
        raise DocumentError(
            Problem(code="SIZE-004", what=f"it cannot be read: {error}", where=name)
        ) from None


def _refuse(name: str, num_tasks: int) -> None:
    from tonnage.errors import Problem, RefusedError
    from tonnage.figures import plural

    raise RefusedError(
        Problem(
            code="SIZE-006",
            what="there is no history to learn from",
            where=name,
            found=f"{plural(num_tasks, 'run')}, none of which started after another of its signature had ended",
            expected="at least two runs of one signature, one after the other",
            hint="runs learn from earlier ones with the same text in `signature`; is it too specific?",
        )
    )
