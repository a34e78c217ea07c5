"""From evidence to the ending that goes into an attempt's history."""

from __future__ import annotations

import datetime as dt

from tonnage.diagnosis.evidence import Evidence
from tonnage.running.attempts import Attempt, Ending
from tonnage.running.observing import Observation


def ending_of(
    attempt: Attempt, observation: Observation, evidence: Evidence, now: dt.datetime
) -> Ending | None:
    """How the attempt ended; None while evidence may still come (ask again in a few seconds)."""
    raise NotImplementedError
