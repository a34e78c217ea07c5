"""What its document and its plan allow a run, as plain numbers: how often, how long, how large, how dear.

`decide` reads nothing else of the document, so a supervisor beside the terminal and a controller in a cluster that
hold the same `Policies` decide alike. Seconds, bytes and micro-dollars; None where nothing limits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from tonnage.running.attempts import Cause
from tonnage.spec.run.document import Run
from tonnage.spec.run.policies import OnForecast, OnOom, Retries

HANG_FACTOR = 20.0
"""So many of its own median steps without a step look like a hang."""
HANG_FLOOR_SECONDS = 1800.0
"""Never less than this: a collective's own timeout (10 to 30 min) comes first and knows more, and compilation or a
validation pass make no steps either."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policies:
    """See the module."""

    retries: Mapping[Cause, int]
    """How often each cause is forgiven; a cause that is absent is never retried."""
    backoff_first_seconds: float = 10.0
    backoff_most_seconds: float = 300.0

    raise_memory: bool = True
    grow_by: float | None = None
    max_memory: int | None = None

    on_forecast: Literal["warn", "checkpoint", "raise", "stop"] = "checkpoint"
    look_ahead_seconds: float | None = None
    """How far ahead RAM that runs out is answered; None where nobody looks ahead."""
    look_ahead_confidence: float = 0.9

    on_gpu_oom: Literal["refit", "largerGpu", "fail"] = "refit"
    keep_global_batch: bool = True

    deadline_seconds: float | None = None
    max_wait_seconds: float | None = None
    budget: int | None = None
    """Micro-dollars in all, where the budget is given once; a budget per period is its team's ledger's."""
    budget_warn_at: float = 0.8
    on_exceed: Literal["checkpointAndStop", "suspend", "warn"] = "checkpointAndStop"

    hang_factor: float = HANG_FACTOR
    hang_floor_seconds: float = HANG_FLOOR_SECONDS

    price_per_hour: int | None = None
    """Micro-dollars per hour of the whole gang: what lost work costs."""
    written: Mapping[str, str] = field(default_factory=dict)
    """Limits as the document writes them (`deadline`, `budget`, `maxWait`), for sentences."""

    @classmethod
    def of(
        cls, run: Run, *, price_per_hour: int | None = None, save_seconds: float | None = None
    ) -> Policies:
        """The policies of a run; the plan adds the gang's price and how long a save may block the steps."""
        spec = run.spec
        budget, deadline, wait = spec.budget, spec.deadline, spec.max_wait
        written = {"deadline": deadline, "maxWait": wait, "budget": budget.limit if budget else None}
        return cls(
            retries=retries_of(spec.retries),
            backoff_first_seconds=spec.retries.backoff.low.seconds,
            backoff_most_seconds=spec.retries.backoff.high.seconds,
            raise_memory=spec.on_oom.host == "raise",
            grow_by=spec.on_oom.grow_by,
            on_forecast=_answer_to(spec.on_forecast, spec.on_oom),
            look_ahead_seconds=spec.on_forecast.within.seconds,
            look_ahead_confidence=spec.on_forecast.confidence,
            max_memory=spec.on_oom.max_memory.bytes if spec.on_oom.max_memory else None,
            on_gpu_oom=spec.on_oom.gpu,
            keep_global_batch=spec.on_oom.keep_global_batch,
            deadline_seconds=deadline.seconds if deadline else None,
            max_wait_seconds=wait.seconds if wait else None,
            budget=budget.limit.high if budget and budget.limit.per is None else None,
            budget_warn_at=budget.warn_at if budget else 0.8,
            on_exceed=budget.on_exceed if budget else "checkpointAndStop",
            hang_floor_seconds=max(HANG_FLOOR_SECONDS, 3 * (save_seconds or 0.0)),
            price_per_hour=price_per_hour,
            written={name: str(value) for name, value in written.items() if value is not None},
        )


def _answer_to(forecast: OnForecast, on_oom: OnOom) -> Literal["warn", "checkpoint", "raise", "stop"]:
    """Where memory may not be raised after a death, it is not raised before one: what can be saved is."""
    return "checkpoint" if forecast.action == "raise" and on_oom.host == "fail" else forecast.action


def retries_of(retries: Retries) -> dict[Cause, int]:
    """Budgets by cause; causes that `retries` has no field for are never retried."""
    return {cause: getattr(retries, cause) for cause in get_args(Cause) if hasattr(retries, cause)}
