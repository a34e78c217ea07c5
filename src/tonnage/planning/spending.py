"""The money a run may spend, as one amount: a budget per period counts for the time until it renews."""

from __future__ import annotations

from tonnage.planning.workload import Workload

HOURS = {"hour": 1.0, "day": 24.0, "week": 168.0, "month": 730.0}


def budget_of(workload: Workload) -> tuple[int | None, str]:
    """Micro-dollars of a budget given once, and the budget as it is written."""
    budget = workload.run.spec.budget if workload.run is not None else None
    if budget is None:
        return None, ""
    once = budget.limit.high if budget.limit.per is None else None
    return once, str(budget.limit)


def budget_per_hour(workload: Workload) -> float | None:
    """Micro-dollars per hour that a budget per period allows in the long run."""
    budget = workload.run.spec.budget if workload.run is not None else None
    if budget is None or budget.limit.per is None:
        return None
    return budget.limit.high / HOURS[budget.limit.per]
