"""What to change before trying again: one file per cause that a change cures.

A remedy answers with a `Cure` (the next size and why) or with `GiveUp`. Causes without a remedy are retried as they
were. Cures only ever add: memory that was raised stays raised through every later preemption.
"""

from __future__ import annotations

from tonnage.running.actions import GiveUp
from tonnage.running.attempts import Attempt, Ending
from tonnage.running.observing import Situation
from tonnage.running.policies import Policies
from tonnage.running.remedies import disk, eviction, gpu_oom, host_oom, shared_memory
from tonnage.running.remedies.cure import Cure

__all__ = ["Cure", "remedy_for"]


def remedy_for(
    situation: Situation, policies: Policies, attempt: Attempt, ending: Ending
) -> Cure | GiveUp | None:
    """What the ending asks for; None to try again as it was."""
    if ending.code in shared_memory.CODES:
        return shared_memory.remedy(situation, policies, attempt, ending)
    match ending.cause:
        case "host_oom":
            return host_oom.remedy(situation, policies, attempt, ending)
        case "gpu_oom":
            return gpu_oom.remedy(situation, policies, attempt)
        case "eviction":
            return eviction.remedy(attempt, ending)
        case "storage":
            return disk.remedy(attempt, ending)
    return None
