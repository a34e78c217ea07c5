"""A plan as rows: a label, what is to be said, and a state at the right. The terminal and a web page set them alike.

The order is that of the questions: does the step fit, does the pod fit, where and when, how long and how much, what
can be lost, what to mind.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from tonnage.planning.answers import Change, Cost, NodeGroup, Waiting
from tonnage.planning.spending import dollars
from tonnage.reporting.plan.figures import (
    bare_gib,
    cores,
    dollar_range,
    gib,
    large,
    percent,
    short_time,
    time_range,
)
from tonnage.reporting.plan.views import (
    GpuMemoryView,
    NeedView,
    PlacementView,
    PlanView,
    RiskView,
    SharesView,
    TimeView,
)

Mood = Literal["good", "warning", "bad", "quiet", ""]
_MOODS: dict[str, Mood] = {
    "fits": "good", "set": "good", "tight": "warning", "slow": "warning", "does not fit": "bad", "unknown": "quiet",
}  # fmt: skip
_LABELS = {"memory": "RAM", "shm": "/dev/shm", "disk": "Disk", "cpu": "CPU"}
ONE_LINE = 64
"""What stands beside a label in eighty columns."""
_PART_NAMES = {"parameter": "weights", "parameters": "weights"}


@dataclass(frozen=True, slots=True)
class Row:
    """One thing said: lines under a label, a word at the right, and how it is meant."""

    label: str
    lines: tuple[str, ...]
    state: str = ""
    mood: Mood = ""


def title(view: PlanView) -> tuple[str, str, str]:
    """The first line in three parts: the name, what it is on, and the verdict."""
    run = view.run
    if run.devices:
        on = run.devices
    elif run.gpus:
        on = f"{run.pods} x {run.gpus // max(1, run.pods)} GPUs"
    else:
        on = f"{run.pods} pod{'' if run.pods == 1 else 's'}, no GPU"
    return run.name, on, view.verdict.headline


def rows(view: PlanView) -> list[list[Row]]:
    """The rows of a plan, in paragraphs."""
    needs = [
        *_memory(view),
        *_changes(view),
        *(_need(need, view.time) for need in view.needs),
        *_shares(view.shares),
    ]
    when = [*_starts(view), *_walls(view), *_takes(view.time), *_costs(view), *_risk(view)]
    rest = [*_parts(view), *_reasons(view), *_warnings(view), *_unknown(view)]
    return [paragraph for paragraph in (needs, when, rest) if paragraph]


def mood_of(verdict: str) -> Mood:
    """How a verdict is meant."""
    return {"fits": "good", "fits if": "warning", "cannot fit": "bad"}.get(verdict, "")  # type: ignore[return-value]


def _memory(view: PlanView) -> Iterator[Row]:
    memory = view.gpu_memory
    if memory.required is None:
        if view.run.gpus:
            yield Row("GPU memory", (f"not known: {memory.note}",), "unknown", "quiet")
        return
    usable = f" of {bare_gib(memory.usable)} usable per GPU" if memory.usable is not None else " per GPU"
    lines = [f"{gib(memory.required)} needed{usable}"]
    if parts := _memory_parts(memory):
        lines.append(parts)
    lines.append(_how(memory))
    yield Row("GPU memory", tuple(lines), memory.state, _MOODS[memory.state])


def _memory_parts(memory: GpuMemoryView) -> str:
    """The largest parts, as many as one line holds."""
    text = ""
    for part in sorted(memory.parts, key=lambda part: -part.amount):
        more = f"{_PART_NAMES.get(part.name, part.name)} {bare_gib(part.amount)}"
        if not part.amount or len(text) + len(more) + 2 > ONE_LINE:
            break
        text = f"{text}  {more}" if text else more
    return text


def _how(memory: GpuMemoryView) -> str:
    assert memory.required is not None
    assert memory.expected is not None
    guard = (memory.required / memory.expected - 1) if memory.expected else 0.0
    if memory.mode == "exact":
        return f"exact: your step was traced; the device must hold {gib(memory.expected)}, +{guard * 100:.1f} % guard"
    return f"estimated from the shape: {gib(memory.expected)} expected, +{guard * 100:.0f} % guard"


def _changes(view: PlanView) -> Iterator[Row]:
    label = "Smallest fix"
    for change in view.verdict.changes:
        yield Row(label, (_change(change),))
        label = "and"
        same = [other for other in view.options if other.answers == change.answers]
        for other in same[:1]:
            yield Row("    or", (_change(other),))


def _change(change: Change) -> str:
    return f"{change.what} -> {change.effect}" if change.effect else change.what


def _need(need: NeedView, time: TimeView) -> Row:
    show = cores if need.name == "cpu" else large
    amount = need.granted if need.needed is None else need.needed
    text = show(amount) if amount is not None else "not known"
    if need.needed is None and need.name != "shm":
        text += " asked for"
    elif need.asked is not None and need.needed is not None and need.asked != need.needed:
        text += f" needed, {show(need.asked)} asked for"
    if need.there is not None and need.name != "shm":
        text += f" of {show(need.there)} per node"
        if need.share is not None:
            text += f" ({percent(need.share)}{_beside(need)})"
    lines = [text]
    if need.text:
        joined = f"{text}: {need.text}"
        lines = [joined] if len(joined) <= 58 else [text, need.text]
    if need.name == "cpu":
        lines += [_throttled(wait) for wait in time.waits if wait.cause == "cpu"]
    return Row(_LABELS[need.name], tuple(lines), need.state, _MOODS[need.state])


def _throttled(wait: Waiting) -> str:
    """What too few cores cost."""
    most = "up to " if wait.is_bound else ""
    price = f", {dollars(wait.per_hour)} per hour" if wait.per_hour is not None else ""
    return (
        f"the GPUs wait {most}{percent(wait.idle_share)} of the time for cores{price}; {wait.remedy} ends it"
    )


def _beside(need: NeedView) -> str:
    """The share of GPUs beside the share of this: always for RAM, else where it is less."""
    if need.gpu_share is None or need.share is None:
        return ""
    is_telling = need.name == "memory" or need.share > need.gpu_share
    return f", GPU share {percent(need.gpu_share)}" if is_telling else ""


def _shares(shares: SharesView | None) -> Iterator[Row]:
    if shares is None or not shares.stranded:
        return
    name = _LABELS.get(shares.scarcest, shares.scarcest)
    price = f", {dollars(shares.stranded_per_hour)} per hour" if shares.stranded_per_hour else ""
    text = (
        f"{shares.stranded} GPU{'' if shares.stranded == 1 else 's'}{price}: it takes "
        f"{percent(shares.shares[shares.scarcest])} of the {name} with {percent(shares.gpus)} of the GPUs"
    )
    yield Row("Strands", (text,), "warning", "warning")


def _starts(view: PlanView) -> Iterator[Row]:
    placement = view.placement
    if placement is None:
        return
    lines = [_when(placement), *_where(placement)]
    if placement.needs:
        lines.append("needs " + ", ".join(placement.needs))
    if not placement.sees_all:
        lines.append("only one namespace was seen: others may hold what looks free")
    state, mood = ("now", "good") if placement.now.fits else ("not now", "warning")
    if not placement.empty.fits:
        state, mood = "nowhere", "bad"
    yield Row("Starts", tuple(lines), state, mood)  # type: ignore[arg-type]


def _when(placement: PlacementView) -> str:
    now, empty = placement.now, placement.empty
    total = sum(group.nodes for group in placement.groups)
    if now.fits:
        names = list(now.nodes)
        example = ", ".join(names[:2]) + (f" and {len(names) - 2} more" if len(names) > 2 else "")
        return f"now: {now.feasible:,} of {total:,} nodes would take it ({example})"
    if empty.fits:
        waiting = f"{now.placed} of {now.wanted} pods find a place now"
        come = sum(group.to_come for group in placement.groups if group.takes_empty)
        when = f"once the autoscaler adds nodes (up to {come:,})" if come else "when others leave"
        return f"{when}: {waiting}; {empty.feasible:,} of {total:,} nodes would do if empty"
    if empty.placed:
        return f"{empty.placed} of {empty.wanted} pods find a place, even on empty nodes"
    return f"no node of {total:,} would take it, even empty"


def _where(placement: PlacementView) -> Iterator[str]:
    """Pools beside each other, where there is more than one to tell apart; else what keeps all of them away."""
    taking = [group for group in placement.groups if group.takes_empty]
    if len(taking) > 1 or (taking and not placement.now.fits):
        yield from map(_pool, taking[:3])
    if not taking:
        telling = [
            group
            for group in placement.groups
            if group.gpus_per_node or not any(other.gpus_per_node for other in placement.groups)
        ]
        yield from filter(None, map(_pool, telling[:3]))


def _pool(group: NodeGroup) -> str:
    name = f"{group.gpus_per_node} x {group.gpu}" if group.gpus_per_node else (group.gpu or "no GPU")
    if group.pool and group.pool != group.gpu:
        name = f"{group.pool} ({name})"
    if group.takes_empty:
        small = "; its GPU is too small" if group.memory_fits is False else ""
        return f"{name}: {group.takes_now} now, {group.takes_empty} of {group.nodes} if empty{small}"
    if group.taints:
        return f"{name}: keeps it away by {', '.join(group.taints)}"
    return f"{name}: {', '.join(group.reasons[:2])}" if group.reasons else ""


def _walls(view: PlanView) -> Iterator[Row]:
    order = {"never": 0, "wait": 1, "unknown": 2, "open": 3}
    walls = sorted(view.walls, key=lambda wall: order[wall.standing])
    telling = [wall for wall in walls if wall.standing != "open"]
    shown = telling[:3] or walls[:1]
    moods: dict[str, Mood] = {"never": "bad", "wait": "warning", "unknown": "quiet", "open": "good"}
    words = {"never": "refused", "wait": "must wait", "unknown": "unknown", "open": "open"}
    for index, wall in enumerate(shown):
        yield Row("" if index else "Walls", (wall.text,), words[wall.standing], moods[wall.standing])


def _takes(time: TimeView) -> Iterator[Row]:
    if time.step_seconds is None:
        return
    taken = time.paced_seconds or time.step_seconds
    pace = f"{short_time(taken.p50)} per step"
    if time.per_second:
        pace += f", {time.per_second:,.0f} {time.unit}/s"
    first = f"{time_range(time.total_seconds)} at {pace}" if time.total_seconds else f"{pace}; {time.note}"
    lines = [first]
    lines += [_starved(wait, time) for wait in time.waits if wait.cause == "data loader"]
    if time.loader_seconds is not None and time.idle_share is None:
        lines.append(
            f"the GPUs wait if a sample costs a loader worker more than {short_time(time.loader_seconds)}"
        )
    yield Row("Takes", tuple(lines))


def _starved(wait: Waiting, time: TimeView) -> str:
    """What waiting for data costs, and what would end it."""
    assert time.step_seconds is not None
    price = f", {dollars(wait.per_hour)} per hour" if wait.per_hour is not None else ""
    return (
        f"the GPUs wait {percent(wait.idle_share)} of the time for data{price}: they could do a step in "
        f"{short_time(time.step_seconds.p50)}; {wait.remedy} ends it"
    )


def _costs(view: PlanView) -> Iterator[Row]:
    cost = view.cost
    if cost.per_hour is None:
        if cost.gpu_hours is not None:
            yield Row("Costs", (f"{_hours(cost.gpu_hours.p50)} GPU-hours; {cost.origin}",))
        elif view.run.gpus:
            yield Row("Costs", (f"{view.run.gpus} GPU-hours per hour; {cost.origin}",))
        return
    yield Row("Costs", tuple(_cost_lines(cost)))


def _hours(hours: float) -> str:
    """Whole hours where there are many; two figures where there are few."""
    return f"{hours:,.0f}" if hours >= 10 else f"{hours:.2g}"


def _cost_lines(cost: Cost) -> Iterator[str]:
    assert cost.per_hour is not None
    hour = dollars(cost.per_hour)
    if cost.per_hour_high and cost.per_hour_high > cost.per_hour:
        hour += f" to {dollars(cost.per_hour_high).removeprefix('$')}"
    first = f"{hour} per hour" + (f", {dollar_range(cost.total)}" if cost.total is not None else "")
    yield first + (f"; budget {cost.budget_text}" if cost.budget_text else "")
    deadline = f"{dollars(cost.to_deadline)} if it runs to its deadline; " if cost.to_deadline else ""
    yield f"{deadline}price: {cost.origin}"
    if cost.spot is not None and cost.spot.pays:
        spot = cost.spot
        yield (
            f"on spot nodes {dollars(spot.per_hour)} instead of {dollars(spot.on_demand_per_hour)} per hour, "
            f"{spot.slower:.1f} x as long (assumed): it pays"
        )


def _risk(view: PlanView) -> Iterator[Row]:
    risk = view.risk
    lines: list[str] = []
    if risk.is_refused or risk.every_seconds is None:
        if risk.late_death is not None:
            lines.append(f"{dollars(risk.late_death)}: all of it, if it dies at 90 %")
        elif not risk.place:
            is_ours = view.run.kind == "Run"
            lines.append(
                f"all of it: {'there are no checkpoints' if is_ours else 'no checkpoints are known of'}"
            )
    else:
        lines.append(_at_risk(risk))
    if risk.place and risk.reason and (risk.is_refused or risk.every_seconds is None):
        lines.append(f"checkpoints on {risk.place}: {risk.reason}")
    lines += [risk.exposure] if risk.exposure else []
    if risk.is_spot:
        lines.append(f"spot: taken back every {risk.mean_hours_between_failures:.1f} h on average (assumed)")
    lines += risk.cautions
    if lines:
        state: tuple[str, Mood] = ("refused", "bad") if risk.is_refused else ("", "")
        yield Row("At risk", tuple(lines), *state)


def _at_risk(risk: RiskView) -> str:
    assert risk.every_seconds is not None
    saved = f", saved in {short_time(risk.save_seconds)}" if risk.save_seconds else ""
    what = f"{dollars(risk.at_risk)} of work" if risk.at_risk is not None else "the work since the last save"
    every = short_time(risk.every_seconds)
    return f"{what} at any moment (every {every} to {risk.place}{saved})"


def _parts(view: PlanView) -> Iterator[Row]:
    words = {"slice": "MIG slice", "shared": "shared GPU", "whole": "whole GPU"}
    for index, part in enumerate(view.parts[:4]):
        price = f", {dollars(part.per_hour)} per hour" if part.per_hour is not None else ""
        idle = f", {dollars(part.idle_per_hour)} of it idle" if part.idle_per_hour else ""
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
        if item.what == "model" and said:
            continue  # told where GPU memory is
        shared.setdefault(item.why, []).append(item.what)
    if shared:
        lines = tuple(f"{', '.join(whats)}: {why}" for why, whats in shared.items())
        yield Row("Not known", lines[:4], "", "quiet")
