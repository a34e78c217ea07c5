"""The table and the page around it."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from datetime import date

from foresight.cases import HOUR, Case
from foresight.judging import Standing, quantile

HEAD = (
    "| detector | F1 | recall | false alarms | lead p10 / p50 | 80 % interval covers | from half-way | median error |\n"
    "|---|--:|--:|--:|--:|--:|--:|--:|"
)
SETS = {
    "protocol": (
        "By the protocol",
        "Real pods that ended where they began, and five made kinds (saw teeth, warm-ups, level shifts, checkpoint "
        "spikes, drift); without a leak, and with one, linear or in steps, that reaches the limit in 10 to 22 h.",
    ),
    "others": (
        "Series of other kinds",
        "Nine made kinds that the protocol does not name (a day's swing, a page cache, a data set that is loaded, "
        "several shifts, a load that comes and goes, a walk between walls, wild spikes, collections, noise), with "
        "the same leaks and with leaks that begin late, accelerate or come in bursts.",
    ),
    "grown": (
        "Real pods that ended higher than they began",
        "Nobody knows whether they would have gone on. An alarm here is neither right nor wrong; it is shown.",
    ),
}


def row(standing: Standing) -> str:
    """One detector's line."""
    lead = "-"
    if standing.leads:
        lead = f"{quantile(standing.leads, 0.1) / HOUR:.1f} / {quantile(standing.leads, 0.5) / HOUR:.1f} h"
    error = f"{statistics.median(standing.errors_late):.2f}" if standing.errors_late else "-"
    f1 = f"{standing.f1:.3f}" if standing.leaks else "-"
    recall = f"{standing.found} of {standing.leaks}" if standing.leaks else "-"
    return (
        f"| {standing.detector} | {f1} | {recall} "
        f"| {standing.false} of {standing.negatives} ({standing.false_rate * 100:.1f} %) | {lead} "
        f"| {_share(standing.covered)} | {_share(standing.covered_late)} | {error} |"
    )


def page(
    standings: Mapping[str, Sequence[Standing]], sets: Mapping[str, Sequence[Case]], half: str, pods: int
) -> str:
    """The dated report."""
    lines = [
        f"# How well leaks are foreseen, {date.today().isoformat()}",
        "",
        f"`python -m foresight FOLDER --write`, the {half} half; {pods} real pods in the folder, halves by the hash "
        "of a pod's name. Constants were chosen on the tuning half only. Every detector sees each series grow and is "
        "asked every 28 minutes; recall and false alarms count series, and one alarm at any time counts. F1 is as if "
        "there were as many series with a leak as without. Coverage counts every answer that is an alarm; the error is "
        "the median of |log(p50 / truth)| from half-way on.",
    ]
    for name, found in standings.items():
        title, text = SETS[name]
        leaks = sum(bool(case.leak) for case in sets[name])
        count = f"{len(sets[name]) - leaks} series without a leak, {leaks} with one."
        lines += ["", f"## {title}", "", f"{text} {count}", "", HEAD, *(row(each) for each in found)]
        lines += _by_kind(found)
        lines += _of_ours(found[0])
    return "\n".join([*lines, ""])


def _by_kind(found: Sequence[Standing]) -> list[str]:
    kinds = list(found[0].negatives_by_kind)
    lines = ["", "False alarms by kind:", "", f"| | {' | '.join(kinds)} |", f"|---|{'--:|' * len(kinds)}"]
    for each in found:
        cells = (f"{each.false_by_kind.get(kind, 0)} of {each.negatives_by_kind[kind]}" for kind in kinds)
        lines.append(f"| {each.detector} | {' | '.join(cells)} |")
    return lines


def _of_ours(ours: Standing) -> list[str]:
    lines = []
    if ours.false_names:
        lines += ["", f"Our false alarms: {'; '.join(ours.false_names)}."]
    if ours.missed:
        lines += ["", f"Leaks we missed: {'; '.join(ours.missed)}."]
    return lines


def _share(values: Sequence[bool]) -> str:
    return f"{sum(values) / len(values) * 100:.0f} %" if values else "-"
