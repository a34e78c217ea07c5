"""What of a run's work survives, and whether it may start like this.

Refused are runs whose work can be lost for want of a line in the document: no checkpoints on more than an
hour of work, or checkpoints on storage that dies with the pod or its node. The refusal names its price, the
cost of a death at nine tenths, and can be overruled by saying so (`iAcceptLosingWork: true`).
"""

from __future__ import annotations

from tonnage.cluster.qos import BEST_EFFORT, BURSTABLE, GUARANTEED
from tonnage.cost.price import Price
from tonnage.cost.running import Span, price_of_death, work_at_risk
from tonnage.figures import about_dollars
from tonnage.memory.estimate import Interval
from tonnage.planning.answers import Change, Cost, Pace, Risk
from tonnage.planning.risking import (
    REFUSE_BEYOND_SECONDS,
    CheckpointPlan,
    mean_hours_between_failures,
)
from tonnage.planning.workload import CheckpointTarget, DiesWith, Workload
from tonnage.units import format_bytes

_EXPOSURE = {
    GUARANTEED: "Guaranteed: under pressure, pods over their request go first",
    BURSTABLE: "Burstable: under pressure it goes early once over its request",
    BEST_EFFORT: "BestEffort: no memory request, the first to go under pressure",
}
LOSING_WORK = "losing work"


def risk_of(
    workload: Workload,
    *,
    checkpoints: CheckpointPlan | None,
    checkpoint_bytes: int | None,
    pace: Pace,
    cost: Cost,
    qos: str,
    nodes: int,
    is_spot: bool,
) -> Risk:
    """What is kept, what is at risk at any moment, and whether that is refused."""
    target = workload.checkpoints
    survives = target is not None and target.durability.dies_with not in (
        DiesWith.CONTAINER, DiesWith.POD, DiesWith.NODE,
    )  # fmt: skip
    # How often a manifest's program saves is its own affair: what we would choose prices nothing.
    is_unsaid = workload.run is None and checkpoints is not None and checkpoints.is_chosen
    refused = not workload.accepts_losing_work and _can_be_lost(target, pace.total)
    return Risk(
        place=target.durability.place if target else "",
        dies_with=target.durability.dies_with if target else None,
        reason=target.durability.reason if target else "",
        checkpoints=checkpoints if survives else None,
        checkpoint_bytes=checkpoint_bytes,
        at_risk=_at_risk(cost, checkpoints) if survives and not is_unsaid else None,
        late_death=None if survives else _late_death(cost),
        late_death_per_hour=None if survives else _late_death_per_hour(cost),
        is_by_deadline=not survives and cost.total is None and cost.to_deadline is not None,
        qos=qos,
        exposure=_EXPOSURE.get(qos, ""),
        is_spot=is_spot,
        mean_hours=mean_hours_between_failures(nodes, is_spot=is_spot),
        is_refused=refused,
        cautions=tuple(_cautions(target, checkpoints, checkpoint_bytes)),
    )


def change_against_losing(workload: Workload, risk: Risk) -> Change:
    """The line that keeps the work."""
    price = death_text(risk.late_death, risk.late_death_per_hour, is_by_deadline=risk.is_by_deadline)
    if risk.dies_with is None:
        why = f"no checkpoints on a run of more than an hour: {price}"
    else:
        why = f"checkpoints on {risk.place} die with the {risk.dies_with.value}: {price}"
    if workload.run is None:
        target = workload.checkpoints
        where = f" at {target.mount}" if target is not None and target.mount else ""
        what, consent = f"mount a claim{where}", "annotation tonnage.dev/i-accept-losing-work=true"
    else:
        what, consent = "checkpoints: pvc/NAME", "iAcceptLosingWork: true"
    return Change(
        what=what,
        effect=f"keeps the work (or {consent})",
        field="checkpoints" if workload.run is not None else "",
        why=why,
        answers=LOSING_WORK,
    )


def _at_risk(cost: Cost, plan: CheckpointPlan | None) -> int | None:
    if plan is None or cost.per_hour is None or cost.per_hour_high is None:
        return None
    price = Price(low=cost.per_hour, high=cost.per_hour_high)
    most = work_at_risk(price, interval_seconds=plan.interval_seconds, save_seconds=plan.save_seconds or 0.0)
    return most if cost.total is None else min(most, round(cost.total.p50))  # no more than all of it


def death_text(late: int | None, per_hour: int | None, *, is_by_deadline: bool) -> str:
    """What a death at nine tenths costs, as far as it is known.

    >>> death_text(None, 43_200_000, is_by_deadline=False)
    'a death at 90 % costs $43 for each hour it was to last'
    """
    if late is not None:
        return f"a death at 90 %{' of its deadline' if is_by_deadline else ''} costs {about_dollars(late)}"
    if per_hour is not None:
        return f"a death at 90 % costs {about_dollars(per_hour)} for each hour it was to last"
    return "a death at 90 % loses 90 % of the work"


def _late_death(cost: Cost) -> int | None:
    if cost.total is not None:
        total = Span(round(cost.total.p10), round(cost.total.p50), round(cost.total.p90))
        return price_of_death(total).likely
    return None if cost.to_deadline is None else price_of_death(_sure(cost.to_deadline)).likely


def _late_death_per_hour(cost: Cost) -> int | None:
    if cost.per_hour is None or cost.total is not None or cost.to_deadline is not None:
        return None
    return price_of_death(_sure(cost.per_hour)).likely


def _sure(amount: int) -> Span:
    return Span(amount, amount, amount)


def _can_be_lost(target: CheckpointTarget | None, lasts: Interval | None) -> bool:
    if target is None:
        return lasts is not None and lasts.p50 > REFUSE_BEYOND_SECONDS
    return target.durability.dies_with in (DiesWith.CONTAINER, DiesWith.POD, DiesWith.NODE)


def _cautions(target: CheckpointTarget | None, plan: CheckpointPlan | None, size: int | None) -> list[str]:
    found = []
    if target is not None and target.durability.caution:
        found.append(target.durability.caution)
    room = target.durability.size if target is not None else None
    if target is not None and size is not None and room is not None:
        kept = (target.keep or 1) + 1  # the new one is written before the oldest goes
        if size * kept > room:
            found.append(
                f"{target.durability.place} holds {format_bytes(room)}; {target.keep or 1} checkpoints and the one "
                f"being written take {format_bytes(size * kept)}"
            )
    if plan is not None and plan.grace_is_enough is False:
        found.append(
            f"a stop gives {plan.grace_seconds} s, saving takes about {plan.grace_wanted} s: "
            "the last save would be cut off"
        )
    return found
