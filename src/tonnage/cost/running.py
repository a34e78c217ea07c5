"""What a run costs: by the hour, to its end, to its deadline; and what it costs when it dies.

Ranges multiply outwards: the shortest time at the lowest price, to the longest at the highest. A run pays for
what it holds, whether that computes or waits.
"""

from __future__ import annotations

import msgspec

from tonnage.cost.price import Price

DEATH_AT = 0.9
"""Where a death is priced: late enough to hurt, early enough to happen."""
_HOUR = 3600.0


class Span(msgspec.Struct, frozen=True):
    """Micro-dollars from low over likely to high."""

    low: int
    likely: int
    high: int


class RunCost(msgspec.Struct, frozen=True):
    """What a run costs; what is not known stays out."""

    per_hour: Price
    total: Span | None
    to_deadline: int | None
    """The most it can cost before its deadline stops it."""


def cost_of_run(
    per_hour: Price,
    *,
    seconds: tuple[float, float, float] | None = None,
    deadline_seconds: float | None = None,
) -> RunCost:
    """The cost of a run that lasts between the first and the last of three times (low, likely, high)."""
    total = None
    if seconds is not None:
        shortest, likely, longest = (value / _HOUR for value in seconds)
        total = Span(
            round(per_hour.low * shortest), round(per_hour.middle * likely), round(per_hour.high * longest)
        )
    deadline = None if deadline_seconds is None else round(per_hour.high * deadline_seconds / _HOUR)
    return RunCost(per_hour, total, deadline)


def price_of_death(total: Span, *, at: float = DEATH_AT, kept: float = 0.0) -> Span:
    """What is lost when a run dies at a part of its way of which `kept` (also a part of the way) was saved.

    >>> price_of_death(Span(900, 1000, 1100)).likely, price_of_death(Span(900, 1000, 1100), kept=0.85).likely
    (900, 50)
    """
    lost = max(0.0, at - kept)
    return Span(round(total.low * lost), round(total.likely * lost), round(total.high * lost))


def work_at_risk(per_hour: Price, *, interval_seconds: float, save_seconds: float = 0.0) -> int:
    """The most that a death at the worst moment costs: an interval of work and the save that did not end."""
    return round(per_hour.high * (interval_seconds + save_seconds) / _HOUR)


def price_of_stranded(gpu_price: Price, gpus: int) -> Price:
    """What GPUs cost by the hour that nobody can use because this pod took the rest of their node."""
    return gpu_price.times(gpus)
