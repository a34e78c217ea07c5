"""How long to wait before the next attempt: doubling while nothing is gained, not at all where the cause was cured.

Waiting helps against what passes (a network, a node that comes back). It does not help an attempt that comes back
with more memory: that one starts at once. An attempt that saved something new starts the doubling over.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

from tonnage.running.attempts import Attempt
from tonnage.running.policies import Policies

_MOST_DOUBLINGS = 30


def start_after(attempts: Sequence[Attempt], policies: Policies, *, is_cured: bool) -> dt.datetime | None:
    """When the next attempt may start, counted from the last ending (asking later changes nothing); None: at once."""
    ending = attempts[-1].ending if attempts else None
    if ending is None or is_cured:
        return None
    doublings = min(max(fruitless(attempts) - 1, 0), _MOST_DOUBLINGS)
    seconds = min(policies.backoff_first_seconds * 2**doublings, policies.backoff_most_seconds)
    return ending.when + dt.timedelta(seconds=seconds) if seconds > 0 else None


def fruitless(attempts: Sequence[Attempt]) -> int:
    """How many attempts in a row, ending with the last, saved nothing new."""
    count = 0
    for position in range(len(attempts) - 1, -1, -1):
        if _has_gained(attempts, position):
            break
        count += 1
    return count


def _has_gained(attempts: Sequence[Attempt], position: int) -> bool:
    """Whether this attempt saved a later step than any before it."""
    ending = attempts[position].ending
    if ending is None or ending.safe_step is None:
        return False
    earlier = [
        each.ending.safe_step
        for each in attempts[:position]
        if each.ending is not None and each.ending.safe_step is not None
    ]
    return ending.safe_step > max(earlier, default=-1)
