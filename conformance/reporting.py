"""How conformance results read: as lines on a terminal, and as a dated page that is kept."""

from __future__ import annotations

import datetime as dt
import json
import platform
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from conformance.suite import Disagreement, Tally

if TYPE_CHECKING:
    from conformance.__main__ import Finished

SHOWN = 5


def as_text(tallies: Iterable[Tally]) -> str:
    """One line per tally, then its first disagreements, then what was never exercised."""
    lines: list[str] = []
    for tally in tallies:
        verdict = "ok" if tally.passed else "MISSED"
        lines.append(
            f"  {tally.name:<34} {tally.agreed:>5} of {tally.cases:<5} {tally.agreement:8.3%}"
            f"   target {tally.target:.1%}   {verdict}"
        )
        lines += [f"      {note}" for note in tally.notes]
        lines += [line for item in tally.disagreements[:SHOWN] for line in _disagreement(item)]
        if tally.must_cover:
            covered = len(tally.must_cover) - len(tally.missing)
            lines.append(f"      covers {covered} of {len(tally.must_cover)} rules and messages")
        if tally.missing:
            lines.append(f"      not exercised: {', '.join(tally.missing)}")
    return "\n".join(lines)


def as_markdown(finished: Iterable[Finished], today: dt.date) -> str:
    """The dated report: figures first, then coverage, then every disagreement."""
    results = list(finished)
    kernel = platform.release().partition("-")[0]
    versions = f"Kubernetes v1.36.4; Python {platform.python_version()}; Linux {kernel}; {_cgroups()}."
    lines = [f"# Conformance, {today}", "", versions, "", "Written by `python -m conformance`.", ""]
    lines += [
        "| suite | part | cases | agreed | agreement | target | seed | seconds |",
        "|---|---|--:|--:|--:|--:|--:|--:|",
    ]
    for result in results:
        for tally in result.tallies:
            lines.append(
                f"| {result.suite} | {tally.name} | {tally.cases} | {tally.agreed} | {tally.agreement:.3%} "
                f"| {tally.target:.1%} | {result.seed} | {result.seconds:.0f} |"
            )
    for result in results:
        for tally in result.tallies:
            lines += ["", f"## {result.suite}: {tally.name}", "", *[f"{note}  " for note in tally.notes]]
            lines += ["| exercised | times |", "|---|--:|"]
            lines += [f"| {_cell(name)} | {times} |" for name, times in sorted(tally.coverage.items())]
            lines += [f"| {_cell(name)} | **never** |" for name in tally.missing]
            for item in tally.disagreements:
                lines += ["", "```", *_disagreement(item), "```"]
    return "\n".join(lines) + "\n"


def _disagreement(item: Disagreement) -> list[str]:
    return [
        f"      smallest question: {_json(item.question)}",
        f"          ours: {_json(item.ours)}",
        f"          real: {_json(item.real)}",
    ]


def _json(value: object) -> str:
    return json.dumps(value, default=_plain, sort_keys=True)


def _plain(value: object) -> object:
    return sorted(map(str, value)) if isinstance(value, frozenset | set) else str(value)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _cgroups() -> str:
    unified = Path("/sys/fs/cgroup/cgroup.controllers").exists()
    return "cgroup v2" if unified else "cgroup v1"
