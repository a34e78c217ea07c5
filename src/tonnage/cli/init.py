"""`tonnage init`: a commented starter document, or the Run for a manifest that exists already."""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tonnage.errors import Problem, RefusedError, UsageError

if TYPE_CHECKING:
    from tonnage.spec.adopting import Adopted

KINDS = ("run", "team", "cluster")


@click.command()
@click.option(
    "--kind", type=click.Choice(KINDS), default="run", show_default=True, help="Which document to write."
)
@click.option(
    "--from", "source", metavar="MANIFEST", help="Write the Run for this Kubernetes manifest (- for stdin)."
)
@click.option("--name", help="Name of the run, team or cluster.")
@click.option("--command", help="What to run, such as 'python train.py'.")
@click.option("--gpus", help="GPUs per node: 1, 8 x h100, 24GB..80GB, 0.5.")
@click.option("--image", help="Container image.")
@click.option(
    "-f", "--file", "target", metavar="FILE", help="File to write (- prints it); KIND.yaml by default."
)
@click.option("--force", is_flag=True, help="Replace the file if it is there.")
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", help="How to answer.")
def init(**options: Any) -> int:
    """Write a commented starter document, or the Run for an existing manifest.

    On a terminal it asks what to run and on how many GPUs, unless told. An existing file is never replaced
    without --force.

    \b
        tonnage init
        tonnage init --command 'torchrun train.py' --gpus '8 x h100' -f sft.yaml
        tonnage init --from job.yaml -f run.yaml
    """
    asked = _Asked(**options)
    _refuse_mixing(asked)
    if asked.file != "-" and not asked.force:
        _refuse_replacing(asked.file)
    if asked.source is not None:
        return _write_adopted(asked, asked.source)
    _write(asked.file, _starter(asked))
    _say(asked)
    return 0


@dataclass(frozen=True, kw_only=True)
class _Asked:
    """The words of the command line."""

    kind: str
    source: str | None
    name: str | None
    command: str | None
    gpus: str | None
    image: str | None
    target: str | None
    force: bool
    output: str

    @property
    def file(self) -> str:
        return self.target or f"{self.kind}.yaml"


def _refuse_mixing(asked: _Asked) -> None:
    flags = ("name", "command", "gpus", "image")
    given = [f"--{flag}" for flag in flags if getattr(asked, flag) is not None]
    if asked.source is not None and (given or asked.kind != "run"):
        first = (given or ["--kind"])[0]
        raise UsageError(
            Problem(
                code="CLI-010",
                what=f"--from takes everything from the manifest; {first} has no meaning with it",
                hint="write the file first, then edit it",
            )
        )
    run_only = [flag for flag in given if flag != "--name"]
    if asked.kind != "run" and run_only:
        raise UsageError(
            Problem(code="CLI-010", what=f"{run_only[0]} belongs to a run, not to a {asked.kind}")
        )


def _refuse_replacing(file: str) -> None:
    if Path(file).exists():
        raise RefusedError(
            Problem(
                code="CLI-011",
                what="the file is there already; nothing was written",
                where=file,
                hint="choose another with -f, or replace it with --force",
            )
        )


def _starter(asked: _Asked) -> str:
    from tonnage.spec import starting

    called = _checked_name(asked.name) if asked.name is not None else _name_of_folder(asked.kind)
    head = _schema_line(asked.kind, asked.file)
    if asked.kind == "team":
        return head + starting.starter_team(called)
    if asked.kind == "cluster":
        return head + starting.starter_cluster(called)
    command, gpus = asked.command, asked.gpus
    if command is None and gpus is None and _is_terminal():
        command = click.prompt("What should run?", default="python train.py", err=True)
        gpus = click.prompt("On how many GPUs?", default="1", err=True, value_proc=_gpus_or_ask_again)
    count = _checked_gpus("1" if gpus is None else gpus)
    line = _checked_command("python train.py" if command is None else command)
    return head + starting.starter_run(called, command=line, gpus=count, image=asked.image)


def _is_terminal() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def _schema_line(kind: str, file: str) -> str:
    """Point the editor at the schema, if one was saved beside the document."""
    from tonnage.spec.starting import SCHEMA_LINE

    beside = Path(f"{kind}.schema.json") if file == "-" else Path(file).parent / f"{kind}.schema.json"
    return SCHEMA_LINE.format(path=f"./{beside.name}") if beside.is_file() else ""


def _name_of_folder(kind: str) -> str:
    from tonnage.spec.literals import LiteralError
    from tonnage.spec.names import name as legal_name
    from tonnage.spec.starting import DEFAULT_NAMES

    try:
        return legal_name(Path.cwd().name) if kind == "run" else DEFAULT_NAMES[kind]
    except LiteralError:
        return DEFAULT_NAMES[kind]


def _checked_name(name: str) -> str:
    from tonnage.spec.literals import LiteralError
    from tonnage.spec.names import name as legal_name

    try:
        return legal_name(name)
    except LiteralError as error:
        raise _usage("--name", error) from None


def _checked_gpus(text: str) -> int | float | str:
    from tonnage.spec.literals import Gpus, LiteralError

    try:
        written = Gpus.parse(text).as_written()
    except LiteralError as error:
        raise _usage("--gpus", error) from None
    assert not isinstance(written, dict)  # only the mapping form gives type and memory together
    return written


def _gpus_or_ask_again(text: str) -> str:
    try:
        _checked_gpus(text)
    except UsageError as error:
        problem = error.problem
        what = problem.what.removeprefix("--gpus: ")  # nobody wrote that flag
        raise click.BadParameter(f"{what}; {problem.hint or f'expected {problem.expected}'}") from None
    return text


def _checked_command(line: str) -> str:
    from tonnage.spec.commands import parse
    from tonnage.spec.literals import LiteralError

    try:
        parse(line)
    except LiteralError as error:
        raise _usage("--command", error) from None
    return line


def _usage(flag: str, error: Exception) -> UsageError:
    return UsageError(
        Problem(
            code=getattr(error, "code", "CLI-010"),
            what=f"{flag}: {error}",
            expected=getattr(error, "expected", None),
            hint=getattr(error, "hint", None),
        )
    )


def _write_adopted(asked: _Asked, source: str) -> int:
    from tonnage.cli.check import read_document, show_refusal
    from tonnage.spec.adopting import adopt
    from tonnage.spec.mistakes import Mistake

    content = read_document(source)
    if isinstance(content, Mistake):
        return show_refusal([content], asked.output)
    adopted = adopt(content, "standard input" if source == "-" else source)
    if not adopted.text:
        return show_refusal(adopted.mistakes, asked.output)
    _write(asked.file, adopted.text)
    _tell(asked, adopted, source)
    return 0


def _write(file: str, text: str) -> None:
    if file == "-":
        click.echo(text, nl=False)
        return
    try:
        Path(file).write_text(text, encoding="utf-8")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise RefusedError(
            Problem(code="CLI-012", what=f"cannot write: {reason}", where=file, hint="choose another with -f")
        ) from None


def _say(asked: _Asked) -> None:
    if asked.output == "json":
        answer = {"file": asked.file, "kind": asked.kind.capitalize()}
        click.echo(json.dumps(answer, indent=2), err=asked.file == "-")
    elif asked.file != "-":
        click.echo(f"wrote {asked.file}   next: edit it, then `tonnage check {asked.file}`", err=True)


def _tell(asked: _Asked, adopted: Adopted, source: str) -> None:
    import textwrap

    notes, file = adopted.notes, asked.file
    if asked.output == "json":
        said = {"notCarried": notes.lost, "truths": notes.truths, "hints": notes.hints}
        click.echo(json.dumps({"file": file, "kind": "Run", **said}, indent=2), err=file == "-")
        return
    width = min(shutil.get_terminal_size((80, 24)).columns, 100)
    if file != "-":
        click.echo(f"wrote {file} from {source}   next: `tonnage check {file}`", err=True)
    for label, lines in (
        ("not carried", notes.lost),
        ("to know", notes.truths),
        ("you may want", notes.hints),
    ):
        for line in lines:
            text = f"{label:<13} {line}"
            wrapped = textwrap.wrap(text, width - 2, subsequent_indent=" " * 14, break_on_hyphens=False)
            click.echo("\n".join(f"  {part}" for part in wrapped), err=True)
