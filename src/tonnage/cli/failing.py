"""How a failure reaches the reader: five parts, one exit code, never a traceback.

With `-o json` the same parts go to standard output as `{"errors": [...]}`, so that a script reading JSON reads JSON
also when something went wrong.
"""

from __future__ import annotations

import os
import sys

import click

from tonnage.errors import Problem, TonnageError

BROKEN_PIPE = 141
OUR_BUG = 70


def exit_with(failure: BaseException) -> int:
    """Show the failure and return the exit code it means."""
    if isinstance(failure, click.exceptions.Exit):
        return failure.exit_code
    if isinstance(failure, click.Abort):
        click.echo("stopped; nothing was changed", err=True)
        return 130
    if isinstance(failure, click.ClickException):
        _show_usage(failure)
        return failure.exit_code
    if isinstance(failure, BrokenPipeError):
        # The reader (head, less) went away: silence Python's own complaint at shutdown.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    if isinstance(failure, TonnageError):
        show(*failure.problems)
        return failure.exit_code
    return _our_bug(failure)


def show(*problems: Problem) -> None:
    """Print problems the way this call asked for: text on stderr, or JSON on stdout."""
    if wants_json():
        import json

        click.echo(json.dumps({"errors": [problem.as_json() for problem in problems]}, indent=2))
        return
    for problem in problems:
        click.echo("\n".join(_fitting(problem.as_text())), err=True)


def wants_json(argv: list[str] | None = None) -> bool:
    """Whether this call asked for JSON; read from the words, since a usage error comes before parsing ends."""
    words = sys.argv[1:] if argv is None else argv
    pairs = zip(words, [*words[1:], ""], strict=False)
    return any(
        word in ("-ojson", "-o=json", "--output=json") or (word in ("-o", "--output") and following == "json")
        for word, following in pairs
    )


def _show_usage(failure: click.ClickException) -> None:
    """A call that has no meaning: click's own words, or the same as JSON for those who asked for it."""
    if not wants_json():
        failure.show()
        return
    context = getattr(failure, "ctx", None)
    hint = f"`{context.command_path} -h` shows what it takes" if context is not None else None
    show(Problem(code="CLI-001", what=failure.format_message(), hint=hint))


def _fitting(text: str) -> list[str]:
    """The lines of a problem in the terminal's width; addresses and commands stay whole."""
    from tonnage.cli.columns import width, wrapped

    fitting: list[str] = []
    for line in text.splitlines():
        # The code ends the first line after two spaces; wrapping would make one of them.
        fits = len(line) <= width()
        fitting += [line] if fits else wrapped(line, width(), indent="    ")
    return fitting


def _our_bug(failure: BaseException) -> int:
    import tempfile
    import traceback

    with tempfile.NamedTemporaryFile("w", prefix="tonnage-bug-", suffix=".txt", delete=False) as report:
        report.write(f"{' '.join(sys.argv)}\n\n")
        traceback.print_exception(failure, file=report)
    show(
        Problem(
            code="BUG-001",
            what=f"this is a bug in Tonnage: {type(failure).__name__}: {failure}",
            hint=f"please report it with the file {report.name}",
        )
    )
    return OUR_BUG
