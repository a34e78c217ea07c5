"""Evicted because the node ran short: ask for what is really used, because those over their request go first."""

from __future__ import annotations

from dataclasses import replace

from tonnage.running.attempts import Attempt, Ending
from tonnage.running.remedies.cure import Cure, up_to_mib
from tonnage.units import format_bytes

_MARGIN = 1.05


def remedy(attempt: Attempt, ending: Ending) -> Cure | None:
    """A request up to the peak, where it was below; nothing else helps but another node."""
    size = attempt.size
    if ending.code not in ("MEM-02", "MEM-03") or size.memory_request is None or size.memory is None:
        return None
    asked = size.memory if ending.peak is None else min(size.memory, up_to_mib(ending.peak * _MARGIN))
    if asked <= size.memory_request:
        return None
    raised = replace(size, memory_request=None if asked == size.memory else asked)
    return Cure(raised, f"request {format_bytes(asked)}: under pressure those over their request go first")
