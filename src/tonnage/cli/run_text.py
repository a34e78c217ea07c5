"""A run as text: the lines that stay, and the few that are drawn again and again below them."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

from tonnage.cli.columns import mark, width
from tonnage.planning.spending import dollars
from tonnage.reporting.plan.figures import gib, short_time
from tonnage.reporting.run.sparkline import sparkline
from tonnage.reporting.text import format_age
from tonnage.units import format_bytes

if TYPE_CHECKING:
    from tonnage.planning.answers import Plan
    from tonnage.reporting.run import RunView
    from tonnage.reporting.run.viewing import MemoryView
    from tonnage.running.history import Moment

LABEL = 10
COURSE = 10
_MOODS = {"death": "bad", "remedy": "warning", "resume": "good", "end": "", "wait": "warning"}


def planned_lines(plan: Plan) -> list[str]:
    """The plan as `run` shows it before it asks."""
    facts = []
    if plan.memory.estimate is not None and plan.memory.usable is not None:
        facts.append(f"{gib(plan.memory.estimate.required)} of {gib(plan.memory.usable)} per GPU")
    for need in plan.needs:
        if need.name == "memory" and need.granted is not None:
            facts.append(f"RAM {format_bytes(need.granted)}")
    if plan.cost.per_hour is not None:
        facts.append(f"{dollars(plan.cost.per_hour)} per hour")
    if plan.pace.total is not None:
        facts.append(f"about {short_time(plan.pace.total.p50)}")
    where = plan.against or "nowhere in particular"
    lines = [_line("planned", f"fits on {where}: {', '.join(facts) or 'nothing else is known'}")]
    risk = plan.risk
    if risk.checkpoints is not None and risk.place:
        lines.append(
            _line(
                "safe", f"a checkpoint every {short_time(risk.checkpoints.interval_seconds)} to {risk.place}"
            )
        )
    lines += [_line("note", text) for text in plan.warnings]
    return lines


def moment_line(moment: Moment) -> str:
    """Something that happened, with its time."""
    clock = moment.when.astimezone().strftime("%H:%M:%S")
    mood = _MOODS.get(moment.kind, "")
    return f"  {clock}  {mark(moment.text, mood) if mood else moment.text}"


def live_lines(view: RunView, now: dt.datetime) -> list[str]:
    """The block that changes: where it stands, memory, money, what is safe."""
    lines = ["  " + "─" * (min(width(), 100) - 4), _standing(view, now)]
    for label, memory in (("GPU memory", view.gpu_memory), ("RAM", view.memory)):
        if memory is not None:
            lines.append(_memory(label, memory, view, now))
    lines.append(_money(view, now))
    if not view.is_supervised:
        lines.append("  nobody keeps it alive: only what its place does by itself happens")
    return lines


def progress_line(view: RunView, now: dt.datetime) -> str:
    """All of it in one line, for logs."""
    parts = [_standing(view, now).strip()]
    if view.memory is not None:
        parts.append(f"RAM {_of(view.memory)}")
    if view.safe_step is not None:
        parts.append(f"safe up to step {view.safe_step:,}")
    return "  " + "   ".join(parts)


def _standing(view: RunView, now: dt.datetime) -> str:
    if view.step is None:
        held = f": {view.held_by}" if view.held_by else ""
        return f"  {view.state}{held}   attempt {view.attempt}   {format_age(now - view.created)}"
    parts = [f"step {view.step:,}" + (f" / {view.total:,}" if view.total else "")]
    if view.loss is not None:
        parts.append(f"loss {view.loss:.4g}")
    if view.seconds_per_step:
        parts.append(f"{short_time(view.seconds_per_step)}/step")
    if view.finishes is not None:
        parts.append(f"finishes {_moment(view.finishes, now)}")
    if view.state not in ("running",):
        parts.append(view.state)
    return "  " + "   ".join(parts)


def _memory(label: str, memory: MemoryView, view: RunView, now: dt.datetime) -> str:
    course = sparkline(memory.course, memory.limit, COURSE)
    return f"  {label:<{LABEL}}  {course:<{COURSE}}  {_of(memory):<22}{_trend(memory, view, now)}".rstrip()


def _of(memory: MemoryView) -> str:
    if memory.limit is None:
        return format_bytes(memory.usage)
    return f"{format_bytes(memory.usage)} of {format_bytes(memory.limit)}"


def _trend(memory: MemoryView, view: RunView, now: dt.datetime) -> str:
    if memory.growth_per_hour is None:
        return ""
    if memory.limit_in_seconds is None or memory.growth_per_hour <= 0:
        return "steady"
    text = f"growing {format_bytes(memory.growth_per_hour)}/h: limit in {short_time(memory.limit_in_seconds)}"
    if view.finishes is not None and now + dt.timedelta(seconds=memory.limit_in_seconds) > view.finishes:
        return text + ", after the end"
    return text


def _money(view: RunView, now: dt.datetime) -> str:
    parts = []
    if view.spent is not None:
        parts.append(f"spent {dollars(view.spent)}")
    parts.append(f"ran {short_time(view.ran_seconds)}")
    if view.safe_step is not None and view.safe_since is not None:
        parts.append(f"safe up to step {view.safe_step:,} ({format_age(now - view.safe_since)} ago)")
    else:
        parts.append("no checkpoint yet")
    return "  " + "      ".join(parts)


def _moment(when: dt.datetime, now: dt.datetime) -> str:
    local = when.astimezone()
    if when - now < dt.timedelta(hours=20):
        return local.strftime("%H:%M")
    return local.strftime("%a %H:%M" if when - now < dt.timedelta(days=6) else "%d %b %H:%M")


def _line(label: str, text: str) -> str:
    return f"  {label:<{LABEL}}{text}"
