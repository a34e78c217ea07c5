"""A plan as rows: a label, what is to be said, and a state at the right. The terminal and a web page set them alike.

The order is that of the questions: why not at all, does the step fit, does the pod fit, where and when, how long and
how much, what can be lost, what to mind.
"""

from __future__ import annotations

from collections.abc import Iterator

from tonnage.reporting.plan.cost_rows import cost_rows, risk_rows, time_rows
from tonnage.reporting.plan.figures import gib, money_range
from tonnage.reporting.plan.need_rows import change_rows, memory_rows, need_row, share_rows
from tonnage.reporting.plan.place_rows import start_rows, target_rows, wall_rows
from tonnage.reporting.plan.row import Mood, Row
from tonnage.reporting.plan.views import PlanView


def title(view: PlanView) -> tuple[str, str, str]:
    """The first line in three parts: the name, what it is on, and the verdict."""
    run = view.run
    if run.devices:
        on = run.devices
    elif run.gpus:
        holders, rest = divmod(run.gpus, max(1, round(run.gpus_per_pod)))
        on = f"{run.gpus} GPUs" if rest else f"{holders} x {round(run.gpus_per_pod)} GPUs"
    else:
        on = f"{run.pods} pod{'' if run.pods == 1 else 's'}, no GPU"
    return run.name, on, view.verdict.headline


def rows(view: PlanView) -> list[list[Row]]:
    """The rows of a plan, in paragraphs."""
    why = list(_reasons(view))
    needs = [
        *memory_rows(view),
        *change_rows(view),
        *(need_row(need, view.time) for need in view.needs),
        *share_rows(view.shares),
    ]
    when = [
        *start_rows(view),
        *wall_rows(view),
        *target_rows(view),
        *time_rows(view),
        *cost_rows(view),
        *risk_rows(view),
    ]
    rest = [*_parts(view), *_warnings(view), *_unknown(view)]
    return [paragraph for paragraph in (why, needs, when, rest) if paragraph]


def mood_of(verdict: str) -> Mood:
    """How a verdict is meant."""
    return {"fits": "good", "fits if": "warning", "cannot fit": "bad"}.get(verdict, "")  # type: ignore[return-value]


def _parts(view: PlanView) -> Iterator[Row]:
    words = {"slice": "MIG slice", "shared": "shared GPU", "whole": "whole GPU"}
    for index, part in enumerate(view.parts[:4]):
        price = ""
        if part.per_hour is not None:
            price = f", {money_range(part.per_hour, part.per_hour_high)} per hour"
        idle = ""
        if part.idle_per_hour:
            idle = f", {money_range(part.idle_per_hour, part.idle_per_hour_high)} of it idle"
        name = f"{part.profile} of {part.gpu}" if part.profile else part.gpu
        slower = f", up to {part.slower:.1f} x as long" if part.slower > 1.05 else ""
        first = f"{words[part.how]} {name}: {gib(part.memory)}{price}{idle}{slower}"
        state, mood = ("fits", "good") if part.fits else ("does not fit", "bad")
        here = {None: "", 0: "; no node is cut or shared so"}.get(part.offered_by, "")
        if part.offered_by:
            here = f"; on {part.offered_by} node{'' if part.offered_by == 1 else 's'} here"
        lines = (first, part.isolation + here)
        yield Row("" if index else "Part of one", lines, state, mood)  # type: ignore[arg-type]


def _reasons(view: PlanView) -> Iterator[Row]:
    for index, reason in enumerate(view.verdict.reasons):
        yield Row("" if index else "Because", (reason,))


def _warnings(view: PlanView) -> Iterator[Row]:
    for index, text in enumerate(view.warnings):
        yield Row("" if index else "Mind", (text,))


def _unknown(view: PlanView) -> Iterator[Row]:
    shared: dict[str, list[str]] = {}
    said = view.gpu_memory.note
    for item in view.unknown:
        if (item.what == "model" and said) or item.what == "checkpoints":
            continue  # told where GPU memory is, and what is at risk
        shared.setdefault(item.why, []).append(item.what)
    if shared:
        lines = tuple(f"{', '.join(whats)}: {why}" for why, whats in shared.items())
        yield Row("Not known", lines[:4], "", "quiet")
