"""Kill real trainings in every way they can die, and prove that nothing is lost.

\b
  python -m survival                    the full set on this machine and on real nodes; writes docs/reports/
  python -m survival --on machine       this machine only
  python -m survival --sample           a seeded handful, as in CI
  python -m survival --seed 7 --keep /tmp/failed

The exit code is 1 when anything is not proved.
"""

from __future__ import annotations

import datetime as dt
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import click

from survival.case import Outcome
from survival.judging import judge
from survival.reporting import as_line, as_markdown

REPORTS = Path(__file__).parent.parent / "docs" / "reports"


@click.command(help=__doc__, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--deaths", type=click.IntRange(min=1), default=200, show_default=True, help="On this machine, at least."
)
@click.option("--seed", type=int, default=None, help="Seed of everything random; by default today's date.")
@click.option(
    "--on", type=click.Choice(["machine", "nodes"]), default=None, help="Only one of the two places."
)
@click.option("--sample", is_flag=True, help="A seeded handful of cases; no report.")
@click.option(
    "--parallel", type=click.IntRange(min=1), default=2, show_default=True, help="Trainings at a time."
)
@click.option(
    "--keep", type=click.Path(path_type=Path), default=None, help="Folder for what failed cases left."
)
@click.option("--only", default=None, help="On nodes, only cases whose name holds this; no report.")
@click.option("--report", type=click.Path(path_type=Path), default=None, help="Where to write the report.")
def main(
    deaths: int,
    seed: int | None,
    on: str | None,
    sample: bool,
    parallel: int,
    keep: Path | None,
    only: str | None,
    report: Path | None,
) -> None:
    today = dt.datetime.now(dt.UTC).date()
    seed = int(today.strftime("%Y%m%d")) if seed is None else seed
    began, found, is_whole = time.monotonic(), [], False
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        for outcome in _outcomes(deaths, seed, on, parallel, keep, sample=sample, only=only):
            _tell(outcome)
            found.append(outcome)
        is_whole = True
    except KeyboardInterrupt:
        click.echo("stopped before its end")
    if not sample and only is None:
        place = report or REPORTS / f"survival-{today}{f'-{on}' if on else ''}.md"
        command = " ".join(["python -m survival", f"--seed {seed}", *([f"--on {on}"] if on else [])])
        page = as_markdown(found, today, command, time.monotonic() - began, is_whole=is_whole)
        place.write_text(page, encoding="utf-8")
        click.echo(f"written: {place}")
    failed = [each for each in found if judge(each)]
    total = sum(each.num_deaths for each in found)
    click.echo(f"{total} deaths in {len(found)} trainings, {len(failed)} trainings not proved")
    sys.exit(1 if failed or not found or not is_whole else 0)


def _outcomes(
    deaths: int,
    seed: int,
    on: str | None,
    parallel: int,
    keep: Path | None,
    *,
    sample: bool,
    only: str | None,
) -> Iterator[Outcome]:
    """Everything that was asked for, one after the other."""
    if on in (None, "machine") and only is None:
        from survival import machine

        cases = machine.chosen(deaths, seed, is_sample=sample)
        click.echo(f"this machine: {len(cases)} trainings, seed {seed}")
        yield from machine.outcomes(cases, parallel, keep, deaths=0 if sample else deaths, seed=seed)
    if on in (None, "nodes"):
        from survival import nodes

        yield from nodes.outcomes(seed, is_sample=sample, keep=keep, only=only)


def _tell(outcome: Outcome) -> None:
    click.echo(as_line(outcome))
    sys.stdout.flush()


if __name__ == "__main__":
    main()
