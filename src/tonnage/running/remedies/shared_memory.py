"""/dev/shm too small: twice as much, and the pod's memory by as much more, because what lies there counts as memory."""

from __future__ import annotations

from dataclasses import replace

from tonnage.running.actions import GiveUp
from tonnage.running.attempts import Attempt, Ending
from tonnage.running.observing import Situation
from tonnage.running.policies import Policies
from tonnage.running.remedies.cure import Cure
from tonnage.running.remedies.host_oom import CODE, wall_of
from tonnage.units import format_bytes

CODES = frozenset(("MEM-05", "MEM-06", "MEM-07"))
LEAST = 2**30
"""What a pod without a size of its own gets: 64 MiB is the runtime's default and the usual reason to be here."""


def remedy(situation: Situation, policies: Policies, attempt: Attempt, ending: Ending) -> Cure | GiveUp:
    """Twice the shared memory."""
    if not policies.raise_memory:
        return GiveUp(
            why=f"/dev/shm too small ({ending.code}), and onOOM says fail", hint="set shm", code=CODE
        )
    size = attempt.size
    shm = max(2 * (size.shm or 0), LEAST)
    memory = None if size.memory is None else size.memory + shm - (size.shm or 0)
    wall, owner = wall_of(situation.bounds, policies)
    if memory is not None and wall is not None and memory > wall:
        return GiveUp(
            why=f"/dev/shm needs {format_bytes(shm)}, which makes {format_bytes(memory)} of memory; "
            f"{owner} allows {format_bytes(wall)}",
            hint="fewer loader workers or a smaller prefetch need less",
            code=CODE,
        )
    request = (
        None if size.memory_request is None or memory is None else min(memory, size.memory_request + shm)
    )
    cured = replace(size, shm=shm, memory=memory, memory_request=request)
    return Cure(cured, f"/dev/shm {format_bytes(shm)}, twice what it had")
