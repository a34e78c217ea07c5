"""A plan as text: the verdict first, then aligned rows with the state at the right, in the terminal's width."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tonnage.cli.columns import heading, mark, width, wrapped
from tonnage.figures import about_dollars, about_time
from tonnage.planning.answers import EffectiveValue
from tonnage.reporting.plan.figures import gib, more_time
from tonnage.reporting.plan.need_rows import sum_rows
from tonnage.reporting.plan.row import Row
from tonnage.reporting.plan.rows import mood_of, rows, title
from tonnage.reporting.plan.views import AlternativeView, FitView, PlanView
from tonnage.reporting.text import one_line

LABEL = 14
INDENT = "  "
_GLUE = "\x00"
_BEFORE_UNIT = re.compile(r"(?<=\d) (?=(?:%|ms|s|h|d|min|MiB|GiB|TiB|GPUs?|cores?)\b|%)")
"""A figure and its unit stay on one line."""
WIDEST = 100
"""Lines longer than this are hard to read, however wide the terminal is."""


def draw(view: PlanView, *, explain: bool = False) -> list[str]:
    """The plan as lines."""
    lines = _title(view)
    for paragraph in rows(view):
        lines.append("")
        for row in paragraph:
            lines += _row(row)
    if view.fit is not None:
        lines += ["", *_fit(view.fit)]
    if explain:
        lines += [*_sums(view), "", *_explained(view.effective)]
    else:
        lines += _defaults(view)
    return lines


def _room() -> int:
    return min(width(), WIDEST)


def _title(view: PlanView) -> list[str]:
    name, on, verdict = title(view)
    told = mark(verdict, mood) if (mood := mood_of(view.verdict.kind)) else verdict
    if len(name) + len(on) + len(verdict) + 6 <= _room():
        return [f"{heading(name)}   {on}   {told}"]
    return [f"{heading(name)}   {told}", f"{INDENT}{on}"]


def _row(row: Row) -> list[str]:
    """A row's lines under its label; the state stands at the right of the first, if there is room."""
    start = len(INDENT) + LABEL
    lines: list[str] = []
    for number, text in enumerate(row.lines):
        room = _room() - start
        first_room = room - (len(row.state) + 2 if number == 0 and row.state else 0)
        pieces = _wrapped(text, first_room, room)
        for index, piece in enumerate(pieces):
            label = row.label if number == 0 and index == 0 else ""
            line = f"{INDENT}{label:<{LABEL}}{piece}"
            if number == 0 and index == 0 and row.state:
                line = f"{line:<{_room() - len(row.state)}}{mark(row.state, row.mood) if row.mood else row.state}"
            lines.append(line)
    return lines


def _wrapped(text: str, first: int, others: int) -> list[str]:
    """Words in lines, the first shorter than the others."""
    if len(text) <= first:
        return [text]
    glued = _BEFORE_UNIT.sub(_GLUE, text)
    lines = wrapped(glued, max(20, first))
    rest = " ".join(lines[1:])
    return [line.replace(_GLUE, " ") for line in (lines[0], *wrapped(rest, max(20, others)))]


def _fit(fit: FitView) -> list[str]:
    if fit.chosen is None:
        reasons = "; ".join(fit.obstacles) or f"none of {fit.considered:,} settings fits"
        return _row(Row("--fit", (f"found nothing: {reasons}",), "nothing", "bad")) + _fixed(fit)
    how = "traced" if fit.confirmed else "estimated"
    lines = _row(Row("--fit", (f"the cheapest of {fit.considered:,} settings, {how}",)))
    lines += _alternative("chosen", fit.chosen)
    for index, step in enumerate(fit.steps):
        lines += _row(Row("" if index else "  why", (step.text,)))
    for index, other in enumerate(fit.runners_up):
        lines += _alternative("" if index else "  next", other)
    for index, step in enumerate(fit.left[:4]):
        lines += _row(Row("" if index else "  left alone", (step.text,)))
    return lines + _fixed(fit)


def _fixed(fit: FitView) -> list[str]:
    """The knobs that were not turned and why: where nothing fits, one of them may be the way out."""
    lines = []
    for index, (knob, reason) in enumerate(fit.fixed.items()):
        lines += _row(Row("" if index else "  fixed", (f"{knob}: {reason}",)))
    return lines


def _alternative(label: str, other: AlternativeView) -> list[str]:
    changes = ", ".join(change.what for change in other.changes) or "as it is"
    facts = [f"{gib(other.required)} of {gib(other.usable)}{more_time(other.slower)}"]
    if other.step_seconds is not None:
        facts.append(f"{about_time(other.step_seconds.p50)} per step")
    if other.per_step is not None:
        facts.append(f"{about_dollars(other.per_step * 1000)} per 1,000 steps")
    return _row(Row(f"  {label}" if label == "chosen" else label, (changes, ", ".join(facts))))


def _sums(view: PlanView) -> list[str]:
    """What each need is the sum of, and what changes each part."""
    drawn = [line for row in sum_rows(view) for line in _row(row)]
    return ["", heading("What one pod needs, part by part"), *drawn] if drawn else []


def _explained(values: Sequence[EffectiveValue]) -> list[str]:
    """Every value with who decided it."""
    if not values:
        return []
    room = _room()
    origin = max(len(value.origin) for value in values)
    field = min(max(len(value.field) for value in values), room // 2)
    lines = [heading("Effective document")]
    for value in values:
        space = max(8, room - len(INDENT) - field - origin - 4)
        text = value.value if len(value.value) <= space else value.value[: space - 1] + "…"
        name = one_line(value.field, field)
        lines.append(f"{INDENT}{name:<{field}}  {text:<{space}}  {mark(value.origin, 'quiet')}")
    return lines


def _defaults(view: PlanView) -> list[str]:
    worked_out = [value.field for value in view.effective if value.origin == "estimated"]
    if not worked_out:
        return []
    shown = ", ".join(worked_out[:6]) + (" ..." if len(worked_out) > 6 else "")
    return [
        "",
        *wrapped(f"{INDENT}worked out: {shown}; --explain shows each value's origin", _room(), INDENT),
    ]
