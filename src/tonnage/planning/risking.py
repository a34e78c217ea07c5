"""What can be lost: progress since the last checkpoint, and all of it where there is none.

    interval   Daly's, from the time a save blocks and the mean time between interruptions of the whole gang
               (a gang of N nodes breaks N times as often as one)
    at risk    what the run costs in one interval and one save: a death just before the next one costs that
    a death    at nine tenths of the run, where nothing is kept: nine tenths of its price

Two figures are assumptions until they are measured, and shown as such: how often nodes fail, and how fast
storage takes a checkpoint.
"""

from __future__ import annotations

import math

import msgspec

from tonnage.cost.saving import FAILURES_PER_NODE_DAY, daly_interval, mean_of_gang

SPOT_MEAN_HOURS = 4.3
"""Mean time until a spot node is taken back: the middle of the AWS availability traces."""
WRITE_BYTES_PER_SECOND = 1_000_000_000
"""What a pod writes to shared storage, where nobody has measured it."""
REFUSE_BEYOND_SECONDS = 3600.0
SHORTEST_INTERVAL = 60.0
LONGEST_INTERVAL = 2 * 3600.0
"""Nodes fail rarely and programs often; what is not in the figures must not cost a day either."""
GRACE_RESERVE = 1.5
SMALLEST_GRACE = 30


class CheckpointPlan(msgspec.Struct, frozen=True):
    """How often progress is saved, what a save takes, and how long a stop may take."""

    interval_seconds: float
    is_chosen: bool
    """Whether we chose the interval."""
    save_seconds: float | None
    grace_seconds: int | None
    """What the pod is given after a stop signal."""
    grace_wanted: int | None
    """What a save needs; None where the size of a checkpoint is not known."""

    @property
    def grace_is_enough(self) -> bool | None:
        if self.grace_seconds is None or self.grace_wanted is None:
            return None
        return self.grace_seconds >= self.grace_wanted


def mean_hours_between_failures(nodes: int, *, is_spot: bool) -> float:
    """How long a gang of so many nodes runs until one of them fails or is taken back."""
    per_day = FAILURES_PER_NODE_DAY + (24 / SPOT_MEAN_HOURS if is_spot else 0.0)
    return mean_of_gang(24 / per_day, nodes)


def best_interval_seconds(save_seconds: float, mean_seconds: float) -> float:
    """Daly's interval between saves, between a minute and two hours.

    >>> round(best_interval_seconds(40, 4.3 * 3600) / 60), round(best_interval_seconds(40, 77 * 24 * 3600) / 60)
    (18, 120)
    """
    return min(LONGEST_INTERVAL, max(SHORTEST_INTERVAL, daly_interval(save_seconds, mean_seconds)))


def save_seconds(checkpoint_bytes: int, writers: int, *, is_sharded: bool) -> float:
    """How long a blocking save takes: every node writes its part, or the first writes all."""
    return checkpoint_bytes / (WRITE_BYTES_PER_SECOND * (max(1, writers) if is_sharded else 1))


def plan_checkpoints(
    *,
    every_seconds: float | None,
    saving: float | None,
    nodes: int,
    is_spot: bool,
    grace_seconds: int | None,
    grace_is_ours: bool,
    lasts: float | None = None,
) -> CheckpointPlan:
    """The interval that holds (asked for, else the best), and whether a stop leaves time to save."""
    wanted = None if saving is None else max(SMALLEST_GRACE, math.ceil(saving * GRACE_RESERVE))
    given = wanted if grace_is_ours and grace_seconds is None else grace_seconds
    if every_seconds is not None:
        return CheckpointPlan(every_seconds, False, saving, given, wanted)
    mean = mean_hours_between_failures(nodes, is_spot=is_spot) * 3600
    interval = best_interval_seconds(saving if saving is not None else SMALLEST_GRACE, mean)
    if lasts is not None:  # a run shorter than its interval would never save: it does once, at its end
        interval = min(interval, max(SHORTEST_INTERVAL, lasts))
    return CheckpointPlan(interval, True, saving, given, wanted)
