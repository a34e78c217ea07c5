"""Evicted for its own disk limit: twice as much ephemeral storage; the same limit would be reached again."""

from __future__ import annotations

from dataclasses import replace

from tonnage.running.attempts import Attempt, Ending
from tonnage.running.remedies.cure import Cure
from tonnage.units import format_bytes


def remedy(attempt: Attempt, ending: Ending) -> Cure | None:
    """More disk, where the pod's own limit was the wall."""
    if ending.code != "STO-01" or attempt.size.disk is None:
        return None
    disk = 2 * attempt.size.disk
    return Cure(replace(attempt.size, disk=disk), f"disk {format_bytes(disk)}, twice what it had")
