"""What a run has used of its time and money: each attempt at the price of what it ran on."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable

from tonnage.running.attempts import Attempt, Size
from tonnage.running.history import Launching


def seconds_of(attempt: Attempt, now: dt.datetime | None = None) -> float:
    """How long an attempt has run; of one that is not over nothing counts where no `now` is given."""
    end = attempt.ending.when if attempt.ending is not None else now
    if attempt.started is None or end is None:
        return 0.0
    return max((end - attempt.started).total_seconds(), 0.0)


def ran_seconds(attempts: Iterable[Attempt], now: dt.datetime | None = None) -> float:
    """How long all attempts have run."""
    return sum(seconds_of(each, now) for each in attempts)


def rate_of(launching: Launching, size: Size) -> int | None:
    """Micro-dollars an hour of an attempt of this size: a remedy may have moved it to a dearer GPU."""
    moved = [refit for refit in launching.refits if refit.gpu is not None and refit.gpu == size.gpu]
    return next(
        (refit.price_per_hour for refit in moved if refit.price_per_hour is not None),
        launching.price_per_hour,
    )


def spent_on(launching: Launching, attempts: Iterable[Attempt], now: dt.datetime | None = None) -> int:
    """Micro-dollars of all attempts so far."""
    return round(
        sum((rate_of(launching, each.size) or 0) * seconds_of(each, now) / 3600 for each in attempts)
    )
