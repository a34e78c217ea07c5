"""How often each cause has been forgiven. Counted from the history alone, so that it survives any restart."""

from __future__ import annotations

from collections.abc import Sequence

from tonnage.running.attempts import Attempt, Cause
from tonnage.running.policies import Policies


def uses(attempts: Sequence[Attempt], cause: Cause, *, forgiven: int = 0) -> int:
    """How many attempts after the forgiven ones ended of this cause."""
    return sum(
        1
        for each in attempts
        if each.number > forgiven and each.ending is not None and each.ending.cause == cause
    )


def is_spent(attempts: Sequence[Attempt], cause: Cause, policies: Policies, *, forgiven: int = 0) -> bool:
    """Whether the last ending of this cause was one too many."""
    return uses(attempts, cause, forgiven=forgiven) > policies.retries.get(cause, 0)
