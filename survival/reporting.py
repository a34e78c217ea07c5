"""Outcomes as a dated page, and as lines while they come in."""

from __future__ import annotations

import datetime as dt
import platform
from collections.abc import Sequence

from survival.case import Outcome
from survival.judging import deaths_of, ending_for, judge, lost_seconds


def as_line(outcome: Outcome) -> str:
    """One case on one line, with everything that is wrong with it below."""
    wrong = judge(outcome)
    mark = "wrong" if wrong else "ok"
    head = f"{mark:<6}{outcome.num_deaths} deaths  {outcome.seconds:5.0f} s  {outcome.case} (seed {outcome.seed})"
    return "\n".join([head, *(f"        {each}" for each in wrong)])


def as_markdown(
    outcomes: Sequence[Outcome], today: dt.date, command: str, seconds: float, *, is_whole: bool = True
) -> str:
    """The whole report."""
    failed = [each for each in outcomes if judge(each)]
    deaths = sum(each.num_deaths for each in outcomes)
    lines = [
        f"# Survival, {today}",
        "",
        f"`{command}`, {seconds / 60:.0f} min on {platform.system()} {_kernel()}, "
        f"Python {platform.python_version()}.",
        *([] if is_whole else ["", "**Stopped before its end**: what follows is as far as it came."]),
        "",
        f"**{deaths} deaths in {len(outcomes)} trainings; {len(outcomes) - len(failed)} trainings proved, "
        f"{len(failed)} not.** Proved means: every loss and the final weights are bit for bit those of an undisturbed "
        "run, no more work was lost than since the last due checkpoint, every death is in the history with a right "
        "class and its black box is kept, no two attempts died of the same OOM at the same size, and nothing was left "
        "running, mounted or held.",
        "",
        *_by_kind(outcomes),
        "",
        *_by_class(outcomes),
        "",
        *_failures(failed),
        *_courses(outcomes),
        *_notes(outcomes),
    ]
    return "\n".join(lines) + "\n"


def _kernel() -> str:
    """Its version without what its builder added."""
    return ".".join(platform.release().split(".")[:2])


def _by_kind(outcomes: Sequence[Outcome]) -> list[str]:
    """How often each death was brought about, and the most work it cost."""
    counts: dict[str, int] = {}
    lost: dict[str, float] = {}
    for outcome in outcomes:
        for injury in outcome.injuries:
            counts[injury.kind] = counts.get(injury.kind, 0) + 1
        for death, before, after in deaths_of(outcome):
            if death is not None:
                lost[death.kind] = max(lost.get(death.kind, 0.0), lost_seconds(before, after))
    rows = [f"| {kind} | {count} | {_seconds(lost.get(kind))} |" for kind, count in sorted(counts.items())]
    return ["| death | times | most work lost |", "|---|---|---|", *rows]


def _seconds(value: float | None) -> str:
    return "" if value is None else f"{value:.2f} s"


def _by_class(outcomes: Sequence[Outcome]) -> list[str]:
    """What the deaths were put down to."""
    counts: dict[tuple[str, str], int] = {}
    for outcome in outcomes:
        for injury in outcome.injuries:
            ending = ending_for(injury, outcome.attempts)
            if injury.kills_attempt and ending is not None:
                key = (injury.kind, f"{ending.code}, {ending.cause}")
                counts[key] = counts.get(key, 0) + 1
    rows = [f"| {kind} | {code} | {count} |" for (kind, code), count in sorted(counts.items())]
    return ["| death | class and cause it was put down to | times |", "|---|---|---|", *rows]


def _failures(failed: Sequence[Outcome]) -> list[str]:
    if not failed:
        return []
    lines = ["## Not proved", ""]
    for outcome in failed:
        lines += [f"- {outcome.case} (seed {outcome.seed}, {outcome.place}):"]
        lines += [f"  - {each}" for each in judge(outcome)]
    return [*lines, ""]


def _courses(outcomes: Sequence[Outcome]) -> list[str]:
    rows = [
        f"| {outcome.place} | {outcome.case} | {outcome.num_deaths} | {len(outcome.attempts)} | {outcome.state} "
        f"| {'no' if judge(outcome) else 'yes'} | {outcome.seconds:.0f} |"
        for outcome in outcomes
    ]
    head = [
        "| where | training | deaths | attempts | end | proved | seconds |",
        "|---|---|---|---|---|---|---|",
    ]
    return ["## Every training", "", *head, *rows]


def _notes(outcomes: Sequence[Outcome]) -> list[str]:
    """What cases have to say beside their verdict: where ranks ran, what was placed."""
    said = [f"- {outcome.case}: {note}" for outcome in outcomes for note in outcome.notes]
    return ["", "## Seen", "", *said] if said else []
