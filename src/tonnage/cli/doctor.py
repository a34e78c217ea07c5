"""`tonnage doctor`: what a cluster can do for you, and why not, each line with its remedy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tonnage.cli.target import Looking, refuse_missing_namespace, target_options

if TYPE_CHECKING:
    from tonnage.reporting.doctor import Check, DoctorView

MARKS = {
    "ok": ("ok", "good"),
    "absent": ("-", "quiet"),
    "problem": ("NO", "bad"),
    "unknown": ("?", "warning"),
}


@click.command()
@target_options
@click.option(
    "-o", "--output", type=click.Choice(["text", "json"]), default="text", help="Print JSON for programs."
)
@click.option("--all", "show_all", is_flag=True, help="Also explain what is optional and not there.")
def doctor(looking: Looking, output: str, show_all: bool) -> None:
    """Say what a cluster can do for you, and why not.

    Version and feature gates, nodes and GPUs, storage, add-ons, and what you are allowed to do, verb by
    verb. Exit code 1 when something people come for cannot work.
    """
    from tonnage.kube.examining import gather_facts
    from tonnage.reporting.doctor import examine

    facts = gather_facts(looking.cluster, looking.namespace)
    refuse_missing_namespace(facts.snapshot)
    view = examine(facts)
    if output == "json":
        import msgspec

        click.echo(msgspec.json.format(msgspec.json.encode(view), indent=2))
    else:
        click.echo("\n".join(draw(view, show_all=show_all)))
    raise click.exceptions.Exit(1 if view.problems else 0)


def draw(view: DoctorView, *, show_all: bool) -> list[str]:
    """The report as lines: verdict, then one line per check, its remedy below where there is one."""
    from tonnage.cli.columns import heading
    from tonnage.figures import plural
    from tonnage.reporting.doctor.check import ASK_LIVE

    verdict = f"{plural(view.problems, 'problem')} found" if view.problems else "fine"
    lines = [f"{heading(view.source)}   {verdict}"]
    column = max(len(check.subject) for check in view.checks)
    area = ""
    for check in view.checks:
        if check.area != area:
            area = check.area
            lines += ["", f"  {heading(area)}"]
        lines += _lines(check, column, show_all)
    untold = sum(check.remedy == ASK_LIVE for check in view.checks)
    if untold:
        lines += ["", f"  {plural(untold, 'thing')} a file cannot tell (?): {ASK_LIVE}"]
    hidden = sum(check.state.value == "absent" for check in view.checks)
    if hidden and not show_all:
        lines += [
            *([] if untold else [""]),
            f"  {plural(hidden, 'optional part')} not there (-): --all says how to get them",
        ]
    return lines


def _lines(check: Check, column: int, show_all: bool) -> list[str]:
    from tonnage.cli.columns import mark, width, wrapped
    from tonnage.reporting.doctor.check import ASK_LIVE

    sign, state = MARKS[check.state.value]
    indent = " " * (9 + column)
    room = width() - len(indent)
    text = wrapped(check.text, room) or [""]
    lines = [f"    {mark(sign.ljust(3), state)} {check.subject:<{column}} {text[0]}"]
    lines += [indent + line for line in text[1:]]
    is_said_once = check.remedy == ASK_LIVE
    if check.remedy and not is_said_once and (check.state.value in ("problem", "unknown") or show_all):
        remedy = wrapped(f"-> {check.remedy}", room, indent="   ")
        lines += [indent + line for line in remedy]
    return lines
