"""What to mind although it fits: a deadline or a budget that ends before the training does."""

from __future__ import annotations

from tonnage.planning.answers import Cost, Pace
from tonnage.planning.spending import budget_per_hour
from tonnage.planning.workload import Workload


def warnings_about(pace: Pace, cost: Cost, workload: Workload) -> tuple[str, ...]:
    """Sentences for people, the gravest first."""
    found = []
    if pace.deadline is not None and pace.total is not None and pace.total.p50 > pace.deadline:
        part = pace.deadline / pace.total.p50
        found.append(f"the deadline comes at {round(part * 100)} % of the training")
    if cost.budget is not None and cost.total is not None and cost.total.p50 > cost.budget:
        part = cost.budget / cost.total.p50
        found.append(f"the budget of {cost.budget_text} is spent at {round(part * 100)} % of the training")
    allowed = budget_per_hour(workload)
    if allowed is not None and cost.per_hour is not None and cost.per_hour > allowed:
        found.append(f"an hour costs more than the budget of {cost.budget_text} renews")
    if cost.spot is not None and not cost.spot.pays and workload.spot in ("allowed", "only"):
        found.append(
            f"spot does not pay: it is taken back so often that it takes {cost.spot.slower:.1f} x as long (assumed)"
        )
    return tuple(found)
