"""How long it takes, what it costs, and what can be lost."""

from __future__ import annotations

from collections.abc import Iterator

from tonnage.figures import about_dollars, about_time
from tonnage.planning.answers import Cost, Said, Waiting
from tonnage.planning.protecting import death_text
from tonnage.reporting.plan.figures import dollar_range, money_range, percent, time_range
from tonnage.reporting.plan.row import Mood, Row
from tonnage.reporting.plan.views import PlanView, RiskView, TimeView

_WAITED_FOR = {"cpu": "cores", "data loader": "data"}
MOST_ORIGINS = 3
"""Prices shown one by one; a cluster of many kinds of nodes has more."""


def time_rows(view: PlanView) -> Iterator[Row]:
    time = view.time
    if time.step_seconds is None:
        return
    taken = time.paced_seconds or time.step_seconds
    pace = f"{about_time(taken.p50)} per step"
    if time.per_second:
        pace += f", {time.per_second:,.0f} {time.unit}/s"
    first = f"{time_range(time.total_seconds)} at {pace}" if time.total_seconds else f"{pace}; {time.note}"
    lines = [first]
    lines += [_starved(wait, time) for wait in time.waits if wait.cause == "data loader"]
    lines += [_at_most(wait, view) for wait in time.waits if wait.is_bound and wait.step_seconds > taken.p50]
    if time.loader_seconds is not None and time.idle_share is None:
        lines.append(
            f"the GPUs wait if a sample costs a loader worker more than {about_time(time.loader_seconds)}"
        )
    if view.gpu_memory.state == "does not fit" and view.verdict.kind == "fits if":
        lines.append("as it is asked for: what makes it fit changes time and cost")
    yield Row("Takes", tuple(lines))


def cost_rows(view: PlanView) -> Iterator[Row]:
    cost = view.cost
    if cost.per_hour is None:
        if cost.gpu_hours is not None:
            yield Row("Costs", (f"{_hours(cost.gpu_hours.p50)} GPU-hours; {cost.origin}",))
        elif view.run.gpus:
            yield Row("Costs", (f"{view.run.gpus} GPU-hours per hour; {cost.origin}",))
        return
    yield Row("Costs", tuple(_cost_lines(cost)))


def risk_rows(view: PlanView) -> Iterator[Row]:
    risk = view.risk
    lines: list[str] = []
    if risk.is_refused or risk.every_seconds is None:
        lines.append(_all_of_it(view))
    else:
        is_unsaid = view.run.kind != "Run" and risk.is_every_chosen
        lines.append(_unsaid(risk) if is_unsaid else _at_risk(risk))
    if risk.place and risk.reason and (risk.is_refused or risk.every_seconds is None):
        lines.append(f"checkpoints on {risk.place}: {risk.reason}")
    lines += [risk.exposure] if risk.exposure else []
    if risk.is_spot:
        lines.append(f"spot: taken back every {risk.mean_hours_between_failures:.1f} h on average (assumed)")
    lines += risk.cautions
    if lines:
        state: tuple[str, Mood] = ("refused", "bad") if risk.is_refused else ("", "")
        yield Row("At risk", tuple(lines), *state)


def _all_of_it(view: PlanView) -> str:
    """What is lost where nothing survives, and its price."""
    risk = view.risk
    price = death_text(risk.late_death, risk.late_death_per_hour, is_by_deadline=risk.is_by_deadline)
    if risk.place:
        return f"all of it: {price}"
    known = "there are no checkpoints" if view.run.kind == "Run" else "no checkpoints are known of"
    return f"all of it, {known}: {price}"


def _starved(wait: Waiting, time: TimeView) -> str:
    """What waiting for data costs, and what would end it."""
    assert time.step_seconds is not None
    price = f", {about_dollars(wait.per_hour)} per hour" if wait.per_hour is not None else ""
    return (
        f"the GPUs wait {percent(wait.idle_share)} of the time for data{price}: they could do a step in "
        f"{about_time(time.step_seconds.p50)}; {wait.remedy} ends it"
    )


def _at_most(wait: Waiting, view: PlanView) -> str:
    """How long it takes at most, where a wait may be as long as that and need not be."""
    taken = view.time.paced_seconds or view.time.step_seconds
    assert taken is not None
    longer = wait.step_seconds / taken.p50
    total, cost = view.time.total_seconds, view.cost.total
    most = about_time(total.p50 * longer) if total else f"{about_time(wait.step_seconds)} per step"
    price = f" and {about_dollars(round(cost.p50 * longer))}" if cost is not None else ""
    return f"up to {most}{price} if the GPUs wait for {_WAITED_FOR[wait.cause]}"


def _hours(hours: float) -> str:
    """Whole hours where there are many; two figures where there are few."""
    return f"{hours:,.0f}" if hours >= 10 else f"{hours:.2g}"


def _cost_lines(cost: Cost) -> Iterator[str]:
    assert cost.per_hour is not None
    hour = money_range(cost.per_hour, cost.per_hour_high)
    first = f"{hour} per hour" + (f", {dollar_range(cost.total)}" if cost.total is not None else "")
    yield first + (f"; budget {cost.budget_text}" if cost.budget_text else "")
    deadline = f"{about_dollars(cost.to_deadline)} if it runs to its deadline" if cost.to_deadline else ""
    if len(cost.prices) > 1:
        yield from filter(None, (deadline,))
        yield from map(_priced, cost.prices[:MOST_ORIGINS])
        if (more := len(cost.prices) - MOST_ORIGINS) > 0:
            yield f"and {more} more price{'' if more == 1 else 's'}: -o json shows each"
    else:
        yield "; ".join(filter(None, (deadline, f"price: {cost.origin}")))
    if cost.spot is not None and cost.spot.pays:
        spot = cost.spot
        cheap, dear = about_dollars(spot.per_hour), about_dollars(spot.on_demand_per_hour)
        yield (
            f"on spot nodes {cheap} instead of {dear} per hour, {spot.slower:.1f} x as long (assumed): it pays"
        )


def _priced(said: Said) -> str:
    """One of several prices, with who says it and since when."""
    dated = f"{said.origin}, {said.as_of}" if said.as_of else said.origin
    note = f" ({said.note})" if said.note else ""
    return f"{money_range(said.per_hour, said.per_hour_high)} per hour: {dated}{note}"


def _unsaid(risk: RiskView) -> str:
    """Where a manifest keeps its progress; how often its program saves is not in it."""
    assert risk.every_seconds is not None
    every = about_time(risk.every_seconds)
    return (
        f"the work since the last save to {risk.place}; how often is not said (every {every} would be right)"
    )


def _at_risk(risk: RiskView) -> str:
    assert risk.every_seconds is not None
    saved = f", saved in {about_time(risk.save_seconds)}" if risk.save_seconds else ""
    what = (
        f"{about_dollars(risk.at_risk)} of work"
        if risk.at_risk is not None
        else "the work since the last save"
    )
    every = about_time(risk.every_seconds)
    return f"{what} at any moment (every {every} to {risk.place}{saved})"
