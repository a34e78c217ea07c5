"""When a run will be finished, and how far off that may be.

Two paces are known of an attempt: the median of its last steps, and its whole life divided by the steps it made, with
start-up, saving and evaluation in it. The truth lies between them as a rule: the early steps and the start weigh on
the second, the first knows nothing of saves. The middle is told, half of their distance is how far off it may be.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from tonnage.running.attempts import Attempt
from tonnage.running.observing import Progress

LEAST_STEPS = 5
"""Before so many steps of its own an attempt's life says nothing about its pace."""


@dataclass(frozen=True, slots=True)
class Finish:
    """The end, as far as it can be seen."""

    at: dt.datetime | None = None
    within: float | None = None
    seconds_left: float | None = None


def finish_of(progress: Progress | None, attempt: Attempt | None, now: dt.datetime) -> Finish:
    """When the last step will have been made."""
    if progress is None or progress.total is None or not progress.seconds_per_step:
        return Finish()
    steps = max(progress.total - progress.step - 1, 0)
    paces = [progress.seconds_per_step, _whole_pace(progress, attempt, now) or progress.seconds_per_step]
    left = steps * sum(paces) / 2
    within = steps * abs(paces[1] - paces[0]) / 2
    return Finish(at=now + dt.timedelta(seconds=left), within=within, seconds_left=left)


def _whole_pace(progress: Progress, attempt: Attempt | None, now: dt.datetime) -> float | None:
    """Seconds per step over the whole life of the attempt."""
    if attempt is None or attempt.started is None:
        return None
    made = progress.step - max(attempt.from_step or 0, 0)
    lived = ((progress.when or now) - attempt.started).total_seconds()
    return lived / made if made >= LEAST_STEPS and lived > 0 else None
