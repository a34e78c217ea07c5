"""A forecast as text: the verdict first, the time to the limit as a range, the evidence, the course, what to do."""

from __future__ import annotations

from collections.abc import Sequence

from tonnage.cli.characters import fitting
from tonnage.cli.columns import heading, mark, width, wrapped
from tonnage.figures import duration
from tonnage.memory.series.extrapolating import Until
from tonnage.reporting.forecast import ForecastView
from tonnage.reporting.run.sparkline import sparkline
from tonnage.units import format_bytes

LABEL = 10
STATES = {"leaking": "bad", "spiky": "warning", "shifted": "warning", "stable": "good"}


def draw(view: ForecastView) -> list[str]:
    """The view as lines."""
    found = view.found
    word = mark(found.verdict, STATES.get(found.verdict, "quiet"))
    lines = [f"{heading(view.subject)}   {word}", f"  {_end(found.limit_in_seconds)}", ""]
    lines += _block("evidence", found.evidence)
    lines += _course(view)
    lines += _block("do", view.remedies)
    lines += _block("rows", view.notes)
    return lines


def _end(until: Until | None) -> str:
    if until is None:
        return "no end in sight"
    if until.p90 <= 0:
        return "the limit is reached"
    return (
        f"limit in {duration(until.p10)} to {duration(until.p90)}, most likely {duration(until.p50)} "
        "(80 % sure)"
    )


def _course(view: ForecastView) -> list[str]:
    """The whole course in one line, the full block being the limit."""
    if not view.series:
        return []
    figures = (
        f"now {format_bytes(view.now)}, highest {format_bytes(view.peak)} of {format_bytes(view.limit)}, "
        f"{duration(view.series[-1].seconds - view.series[0].seconds)} watched"
    )
    room = min(width(), 100) - LABEL - 2
    curve = fitting(sparkline([round(point.bytes) for point in view.series], view.limit, room))
    return [f"  {'memory':<{LABEL}}{curve}", " " * (LABEL + 2) + figures]


def _block(label: str, texts: Sequence[str]) -> list[str]:
    lines: list[str] = []
    for text in texts:
        said = wrapped(text, width() - LABEL - 2)
        for line in said:
            lines.append(f"  {'' if lines else label:<{LABEL}}{line}")
    return lines
