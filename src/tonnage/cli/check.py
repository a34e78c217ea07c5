"""`tonnage check`: every mistake in every document at once, and nothing is sent anywhere."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from tonnage.spec.checked import Checked, Document
    from tonnage.spec.mistakes import Mistake


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", help="How to answer.")
def check(files: tuple[str, ...], output: str) -> int:
    """Report every mistake in Run, Team and Cluster documents at once.

    FILE is YAML or JSON and may hold several documents; - reads standard input. Nothing is sent anywhere.
    Exit code 0 when all is well (remarks do not count), 1 with mistakes.
    """
    checked = [_check_file(name) for name in dict.fromkeys(files)]
    if output == "json":
        _show_json(checked)
    else:
        _show_text(checked)
    return 1 if any(one.mistakes for one in checked) else 0


def read_document(name: str) -> bytes | Mistake:
    """A file's bytes, at most one more than we accept; or the mistake that says why not."""
    from tonnage.spec.mistakes import Mistake
    from tonnage.spec.reading import MAX_BYTES, too_large

    hint: str | None
    try:
        if name == "-":
            return sys.stdin.buffer.read(MAX_BYTES + 1)
        path = Path(name or "no name")
        if path.is_file() and (size := path.stat().st_size) > MAX_BYTES:
            return too_large(name, size)
        with path.open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except IsADirectoryError:
        what, hint = "is a folder, not a file", f"name the files in it: {name.rstrip('/')}/*.yaml"
    except FileNotFoundError:
        what = "there is no such file"
        hint = _near_file(name) or "check the path: names are taken from the folder the command runs in"
    except PermissionError:
        what, hint = "may not be read by you", f"ls -l {name}"
    except (OSError, ValueError) as error:
        what, hint = f"cannot be read: {getattr(error, 'strerror', None) or error}", None
    return Mistake(code="DOC-001", what=what, file=name or "''", hint=hint)


def show_refusal(mistakes: list[Mistake], output: str) -> int:
    """Say why nothing was done, in the shape every error has; the exit code."""
    from tonnage.spec.showing import show_mistakes

    if output == "json":
        import json

        click.echo(json.dumps({"errors": [mistake.as_problem().as_json() for mistake in mistakes]}, indent=2))
    else:
        click.echo(show_mistakes(mistakes, shutil.get_terminal_size((80, 24)).columns), err=True)
    return 1


def _check_file(name: str) -> Checked:
    from tonnage.spec.checked import Checked
    from tonnage.spec.mistakes import Mistake
    from tonnage.spec.reading import read

    content = read_document(name)
    shown = "standard input" if name == "-" else name
    if isinstance(content, Mistake):
        return Checked(shown, [], [content], [])
    reading = read(content, shown)
    if not reading.documents:
        return Checked(shown, [], reading.mistakes, [])
    from tonnage.spec.checking import check_reading  # loads the models: half a second of work

    return check_reading(reading, shown)


def _near_file(name: str) -> str | None:
    from difflib import get_close_matches

    path = Path(name)
    try:
        neighbours = [entry.name for entry in path.parent.iterdir() if entry.is_file()]
    except OSError:
        return None
    near = get_close_matches(path.name, neighbours, n=1)
    return f"did you mean {path.parent / near[0]}?" if near else None


def _show_text(checked: list[Checked]) -> None:
    from tonnage.spec.showing import show_line, show_mistakes

    width = shutil.get_terminal_size((80, 24)).columns
    mistakes = [mistake for one in checked for mistake in one.mistakes]
    remarks = [remark for one in checked for remark in one.remarks]
    for one in checked:
        for value in one.values:
            click.echo(show_line(one.file, _summary(value), width))
    if mistakes:
        click.echo(show_mistakes(mistakes, width))
    if remarks:
        click.echo(show_mistakes(remarks, width))
    if mistakes:
        count = len(mistakes)
        click.secho(f"{count:,} mistake{'' if count == 1 else 's'}; nothing was sent.", fg="red")
    elif remarks:
        click.echo(f"no mistakes, {len(remarks):,} remark{'' if len(remarks) == 1 else 's'}.")


def _show_json(checked: list[Checked]) -> None:
    import json

    documents: list[dict[str, Any]] = [
        {
            "file": one.file,
            "line": found.raw.line,
            "kind": found.value.kind,
            "name": found.value.metadata.name,
            "summary": _summary(found.value),
        }
        for one in checked
        for found in one.documents
        if found.value is not None
    ]
    answer = {
        "documents": documents,
        "mistakes": [mistake.as_json() for one in checked for mistake in one.mistakes],
        "remarks": [remark.as_json() for one in checked for remark in one.remarks],
    }
    click.echo(json.dumps(answer, indent=2))


def _summary(document: Document) -> str:
    from tonnage.spec.summing_up import summary

    return summary(document)
