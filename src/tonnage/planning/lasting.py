"""How long it takes and what it costs: to the end, and to the deadline.

    to the end   steps x seconds from one step to the next, and a save at every interval
    cost         hours x price of the devices held, whether they compute or wait

A range goes through to the end: the 80 % interval of a step, times the range of the price.
"""

from __future__ import annotations

from tonnage.cost.price import Price
from tonnage.cost.running import cost_of_run
from tonnage.memory.estimate import Interval
from tonnage.planning.answers import Cost, Pace, Said, Waiting
from tonnage.planning.risking import CheckpointPlan
from tonnage.planning.waiting import paced

HOUR = 3600.0


def pace_of(
    step: Interval | None,
    *,
    steps: int | None,
    samples: int | None,
    sequence: int | None,
    deadline: int | None,
    saving: CheckpointPlan | None,
    waits: tuple[Waiting, ...] = (),
) -> Pace:
    """How fast and how long; what is not known stays out."""
    if step is None:
        return Pace(step=None, total=None, deadline=deadline)
    taken, total = paced(step, waits), None
    if steps is not None:
        total = _stretched(taken, steps * _with_saves(saving))
    per_second = None if samples is None or not taken.p50 else samples * (sequence or 1) / taken.p50
    return Pace(
        step=step,
        total=total,
        per_second=per_second,
        unit="tokens" if sequence else "samples",
        paced=taken,
        waits=waits,
        deadline=deadline,
        note="" if steps is not None else "train.steps is not said, so the end is not known",
    )


def cost_of(
    price: Price | None,
    pace: Pace,
    *,
    gpus: int,
    why_no_price: str,
    budget: int | None = None,
    budget_text: str = "",
) -> Cost:
    """What an hour, the whole run and the time to its deadline cost."""
    hours = None if pace.total is None else _stretched(pace.total, 1 / HOUR)
    seconds = None if pace.total is None else (pace.total.p10, pace.total.p50, pace.total.p90)
    cost = None
    if price is not None:
        cost = cost_of_run(price, seconds=seconds, deadline_seconds=pace.deadline)
    span = cost.total if cost is not None else None
    return Cost(
        per_hour=None if price is None else price.low,
        per_hour_high=None if price is None else price.high,
        origin=why_no_price if price is None else price.origins_text(),
        prices=() if price is None else tuple(map(_said, price.each())),
        gpu_hours=None if hours is None or not gpus else _stretched(hours, gpus),
        total=None if span is None else Interval(span.low, span.likely, span.high),
        to_deadline=cost.to_deadline if cost is not None else None,
        budget=budget,
        budget_text=budget_text,
    )


def _said(price: Price) -> Said:
    day = price.as_of.isoformat() if price.as_of is not None else ""
    return Said(per_hour=price.low, per_hour_high=price.high, origin=price.origin, as_of=day, note=price.note)


def _with_saves(saving: CheckpointPlan | None) -> float:
    """The factor that saving adds to training: one save for each interval."""
    if saving is None or not saving.save_seconds:
        return 1.0
    return 1 + saving.save_seconds / saving.interval_seconds


def _stretched(interval: Interval, factor: float) -> Interval:
    return Interval(interval.p10 * factor, interval.p50 * factor, interval.p90 * factor)
