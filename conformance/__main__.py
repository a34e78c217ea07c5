"""Ask the real components thousands of questions and write down how often our rules agree.

\b
  python -m conformance                  all of it; writes docs/reports/
  python -m conformance --sample 0.1     a seeded tenth, as in CI
  python -m conformance nodes --seed 7   one suite

The exit code is 1 when a suite misses its target or a full run leaves a rule it must cover untouched.
"""

from __future__ import annotations

import datetime as dt
import importlib
import sys
import time
import traceback
from dataclasses import dataclass
from pathlib import Path

import click

from conformance.reporting import as_markdown, as_text
from conformance.suite import Suite, Tally

SUITES = {
    "admission": "conformance.admission:AdmissionSuite",
    "scheduling": "conformance.scheduling:SchedulingSuite",
    "nodes": "conformance.nodes:NodeSuite",
}
REPORTS = Path(__file__).parent.parent / "docs" / "reports"


@dataclass(frozen=True, kw_only=True)
class Finished:
    """One suite's result with what it took."""

    suite: str
    tallies: list[Tally]
    seed: int
    seconds: float


@click.command(help=__doc__, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("names", nargs=-1, type=click.Choice(list(SUITES)))
@click.option("--seed", type=int, default=None, help="Seed of the generators; by default today's date.")
@click.option(
    "--sample",
    type=click.FloatRange(0, 1, min_open=True),
    default=1.0,
    show_default=True,
    help="Part of the full size to run.",
)
def main(names: tuple[str, ...], seed: int | None, sample: float) -> None:
    today = dt.datetime.now(dt.UTC).date()
    seed = int(today.strftime("%Y%m%d")) if seed is None else seed
    finished = [_attempt(name, seed=seed, sample=sample) for name in names or SUITES]
    if sample >= 1.0 and not names:
        REPORTS.mkdir(parents=True, exist_ok=True)
        report = REPORTS / f"conformance-{today}.md"
        report.write_text(as_markdown(finished, today), encoding="utf-8")
        click.echo(f"written: {report}")
    failed = any(
        not tally.passed or (sample >= 1.0 and tally.missing)
        for result in finished
        for tally in result.tallies
    )
    sys.exit(1 if failed else 0)


def _attempt(name: str, *, seed: int, sample: float) -> Finished:
    """Run one suite; one that breaks off has failed, and must not take the others' results with it."""
    started = time.monotonic()
    try:
        return run_suite(name, seed=seed, sample=sample)
    except Exception as error:
        traceback.print_exc()
        broken = Tally(name=name, target=1.0, notes=[f"broke off: {type(error).__name__}: {error}"])
        return Finished(suite=name, tallies=[broken], seed=seed, seconds=time.monotonic() - started)


def run_suite(name: str, *, seed: int, sample: float) -> Finished:
    """Run one suite and print its result at once: a long run should be readable while it goes."""
    module, _, attribute = SUITES[name].partition(":")
    suite: Suite = getattr(importlib.import_module(module), attribute)()
    cases = max(1, round(suite.full_size * sample))
    started = time.monotonic()
    click.echo(f"{name}: {cases} cases, seed {seed}")
    tallies = suite.run(seed=seed, cases=cases)
    result = Finished(suite=name, tallies=tallies, seed=seed, seconds=time.monotonic() - started)
    click.echo(as_text(tallies))
    click.echo(f"{name}: {result.seconds:.0f} s")
    return result


if __name__ == "__main__":
    main()
