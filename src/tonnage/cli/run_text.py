"""A run as text: the lines that stay, and the few that are drawn again and again below them."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

from tonnage.cli.characters import RULE, fitting
from tonnage.cli.columns import mark, width, wrapped
from tonnage.figures import about_dollars, about_time
from tonnage.reporting.plan.figures import gib
from tonnage.reporting.run.sparkline import sparkline
from tonnage.reporting.text import format_age
from tonnage.running.wording import rate
from tonnage.units import format_bytes

if TYPE_CHECKING:
    from tonnage.planning.answers import Plan
    from tonnage.reporting.run import RunView
    from tonnage.reporting.run.viewing import MemoryView
    from tonnage.running.history import Moment

LABEL = 10
COURSE = 10
CLOCK = 12
"""Columns of a moment's time, with its margins."""
_LABELLED = ("cause  ", "said   ", "lost   ", "try    ")
_MOODS = {"death": "bad", "remedy": "warning", "resume": "good", "wait": "warning"}


def planned_lines(plan: Plan) -> list[str]:
    """The plan as `run` shows it before it asks."""
    facts = []
    if plan.memory.estimate is not None and plan.memory.usable is not None:
        facts.append(f"{gib(plan.memory.estimate.required)} of {gib(plan.memory.usable)} per GPU")
    for need in plan.needs:
        if need.name == "memory" and need.granted is not None:
            run = plan.workload.run
            each = " per node" if run is not None and run.spec.nodes.low > 1 else ""
            facts.append(f"RAM {format_bytes(need.granted)}{each}")
    if plan.cost.per_hour is not None:
        facts.append(f"{about_dollars(plan.cost.per_hour)} per hour")
    if plan.pace.total is not None:
        facts.append(f"about {about_time(plan.pace.total.p50)}")
    where = plan.against or "nowhere in particular"
    lines = [_line("planned", f"fits on {where}: {', '.join(facts) or 'nothing else is known'}")]
    risk = plan.risk
    if risk.checkpoints is not None and risk.place:
        lines.append(
            _line(
                "safe", f"a checkpoint every {about_time(risk.checkpoints.interval_seconds)} to {risk.place}"
            )
        )
    budget = plan.workload.run.spec.budget if plan.workload.run is not None else None
    if budget is not None and plan.cost.per_hour is None:
        lines.append(
            _line("note", f"the budget {budget.limit} cannot be kept: no price is known here; deadline can")
        )
    lines += [_line("note", text) for text in plan.warnings]
    return lines


def moment_lines(moment: Moment) -> list[str]:
    """Something that happened, with its time; details stand below what they belong to, plans have no time."""
    if moment.kind == "planned":
        return [f"  {fitting(moment.text)}"]
    clock = moment.when.astimezone().strftime("%H:%M:%S") if moment.kind != "detail" else ""
    mood = _MOODS.get(moment.kind, "")
    lines = wrapped(fitting(moment.text), max(width() - CLOCK, 28)) or [""]
    if moment.text.startswith(_LABELLED):  # the columns of `cause  ...` and `lost   ...` are part of the text
        label = moment.text[:7]
        lines = wrapped(fitting(moment.text[7:]), max(width() - CLOCK - 7, 28))
        lines = [(label if index == 0 else " " * 7) + line for index, line in enumerate(lines)]
    return [
        f"  {clock if index == 0 else '':<8}  {mark(line, mood) if mood else line}"
        for index, line in enumerate(lines)
    ]


def live_lines(view: RunView, now: dt.datetime) -> list[str]:
    """The block that changes: where it stands, memory, money, what is safe. No line is wider than the terminal."""
    lines = [RULE * (min(width(), 100) - 4), *_flowing(_standing(view, now))]
    if view.gpu_memory is not None:
        lines += _memory("GPU memory", view.gpu_memory, view, now)
    if view.gpu_activity_course:
        lines.append(_activity(view))
    if view.memory is not None:
        lines += _memory("RAM", view.memory, view, now)
    lines += _flowing(_money(view, now))
    lines += [line for text in _warnings(view) for line in wrapped(text, width() - 4)]
    return [fitting(f"  {line}"[: width() - 1]) for line in lines]


def progress_line(view: RunView, now: dt.datetime) -> str:
    """All of it in one line, for logs."""
    parts = list(_standing(view, now))
    if view.memory is not None:
        parts.append(f"RAM {_of(view.memory)}")
    if view.safe_step is not None:
        parts.append(f"safe up to step {view.safe_step:,}")
    return fitting("  " + "   ".join(parts))


def _flowing(parts: list[str], gap: str = "   ") -> list[str]:
    """Parts side by side, in as many lines as they need."""
    lines: list[str] = []
    for part in parts:
        if lines and len(lines[-1]) + len(gap) + len(part) <= width() - 4:
            lines[-1] += gap + part
        else:
            lines.append(part)
    return lines


def _standing(view: RunView, now: dt.datetime) -> list[str]:
    if view.step is None:
        held = f": held by {view.held_by}" if view.held_by else ""
        attempt = [f"attempt {view.attempt}"] if view.attempt else []
        return [f"{view.state}{held}", *attempt, format_age(now - view.created)]
    parts = [f"step {view.step:,}" + (f" / {view.total:,}" if view.total else "")]
    if view.loss is not None:
        parts.append(f"loss {view.loss:.4g}")
    if view.seconds_per_step:
        parts.append(f"{about_time(view.seconds_per_step)}/step")
    if view.finishes is not None and view.state == "running":
        parts.append(f"finishes {_moment(view.finishes, now)}{_give_or_take(view)}")
    if view.phase not in ("", "step"):
        parts.append(f"in {view.phase}")
    if view.state not in ("running",):
        parts.append(view.state)
    return parts


def _give_or_take(view: RunView) -> str:
    """How far off the end may be, where that is worth a word."""
    if view.finishes_within is None or view.finishes_within < max(30.0, 0.02 * (view.seconds_left or 0.0)):
        return ""
    return f" (+-{about_time(view.finishes_within)})"


def _memory(label: str, memory: MemoryView, view: RunView, now: dt.datetime) -> list[str]:
    course = sparkline(memory.course, memory.limit, COURSE)
    start = f"{label:<{LABEL}}  {course:<{COURSE}}  {_of(memory)}"
    busy = ""
    if label.startswith("GPU") and view.gpu_activity is not None and not view.gpu_activity_course:
        busy = f"{view.gpu_activity:.0f} % busy"
    first, *more = _flowing([start, *filter(None, (busy, _trend(memory, view, now)))], gap="  ")
    return [first, *(" " * (LABEL + 2) + line for line in more)]


def _activity(view: RunView) -> str:
    """How busy the GPUs were lately; the full block is all of the time."""
    course = sparkline(view.gpu_activity_course, 100, COURSE)
    now = view.gpu_activity if view.gpu_activity is not None else view.gpu_activity_course[-1]
    return f"{'GPU busy':<{LABEL}}  {course:<{COURSE}}  {now:.0f} %"


def _of(memory: MemoryView) -> str:
    if memory.limit is None:
        return format_bytes(memory.usage)
    return f"{format_bytes(memory.usage)} of {format_bytes(memory.limit)}"


def _trend(memory: MemoryView, view: RunView, now: dt.datetime) -> str:
    if memory.growth_per_hour is None or view.state != "running":
        return ""
    if memory.growth_per_hour <= 0:
        return "steady"
    pace = rate(memory.growth_per_hour / 3600, memory.usage)
    for long, short in ((" per second", "/s"), (" per minute", "/min"), (" per hour", "/h")):
        pace = pace.replace(long, short)
    text = f"growing {pace}"
    if memory.limit_in_seconds is None:
        return text
    text += f": limit in {about_time(memory.limit_in_seconds)}"
    if view.finishes is not None and now + dt.timedelta(seconds=memory.limit_in_seconds) > view.finishes:
        return text + ", after the end"
    return text


def _money(view: RunView, now: dt.datetime) -> list[str]:
    total = (
        "" if view.seconds_left is None else f" of about {about_time(view.ran_seconds + view.seconds_left)}"
    )
    time = f"ran {about_time(view.ran_seconds)}{total}"
    if view.deadline_seconds is not None:
        time += f", deadline {about_time(view.deadline_seconds)}"
    parts = [time]
    if view.spent is not None:
        money = f"spent {about_dollars(view.spent)}"
        money += f" of about {about_dollars(view.expected_cost)}" if view.expected_cost is not None else ""
        money += f", budget {about_dollars(view.budget)}" if view.budget is not None else ""
        parts.insert(0, money)
    if view.safe_step is not None:
        ago = "" if view.safe_since is None else f" ({format_age(now - view.safe_since)} ago)"
        parts.append(f"safe up to step {view.safe_step:,}{ago}")
    else:
        parts.append("no checkpoint yet")
    return parts


def _warnings(view: RunView) -> list[str]:
    """What will stand in its way, and that nobody watches over it."""
    found = []
    left, deadline = view.seconds_left, view.deadline_seconds
    if left is not None and deadline is not None and view.ran_seconds + left > deadline:
        early = about_time(view.ran_seconds + left - deadline)
        found.append(f"the deadline comes {early} before the end: it will be saved and stopped then")
    if view.expected_cost is not None and view.budget is not None and view.expected_cost > view.budget:
        found.append(
            f"the budget ends before the run does: {about_dollars(view.expected_cost - view.budget)} are missing"
        )
    if not view.is_supervised:
        found.append("nobody keeps it alive: only what its place does by itself happens")
    return found


def _moment(when: dt.datetime, now: dt.datetime) -> str:
    local = when.astimezone()
    if when - now < dt.timedelta(minutes=10):
        return local.strftime("%H:%M:%S")
    if when - now < dt.timedelta(hours=20):
        return local.strftime("%H:%M")
    return local.strftime("%a %H:%M" if when - now < dt.timedelta(days=6) else "%d %b %H:%M")


def _line(label: str, text: str) -> str:
    return fitting(f"  {label:<{LABEL}}{text}")
