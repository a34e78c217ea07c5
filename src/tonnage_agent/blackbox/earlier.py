"""What earlier pods of the same attempt used of its time, from the record one of them left in this very place.

A Job puts a new pod in place of one that was evicted, with the same variables: without a supervisor nobody else tells
the new agent that part of the time it was given is gone. A bucket is not asked: it may not answer, and the Job's own
deadline stands behind.
"""

from __future__ import annotations

import json

from tonnage_agent.contract import RECORD_FILE, attempt_folder
from tonnage_agent.record import read_record
from tonnage_agent.settings import Settings


def seconds_before(settings: Settings) -> float:
    """How long earlier pods of this attempt ran; 0 where there was none, or nothing is kept in a folder."""
    if not settings.record or "://" in settings.record:
        return 0.0
    path = f"{settings.record}/{attempt_folder(settings.attempt, settings.node)}/{RECORD_FILE}"
    try:
        with open(path, encoding="utf-8") as file:
            values = json.load(file)
    except (OSError, ValueError):
        return 0.0
    if not isinstance(values, dict):
        return 0.0
    left = read_record(values)
    if left.run != settings.run:
        return 0.0
    ran = (left.updated_at or 0.0) - left.started_at if left.started_at is not None else 0.0
    return max(ran, 0.0) + max(left.ran_before or 0.0, 0.0)
