"""Deaths that an attempt outlived: a pod was lost, and its controller had another running before anybody looked.

Nothing is retried for them and no budget is used. They are kept because a node that crashes every night is worth
knowing about, whoever made it good.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

from tonnage.diagnosis.boxes import boxes_of
from tonnage.diagnosis.evidence import Evidence
from tonnage.diagnosis.statements import ended_at
from tonnage.running.attempts import Attempt, Ending
from tonnage.running.endings import ending_of
from tonnage.running.observing import Observation

HEALED = "Kubernetes put another pod in its place before it was seen; the attempt goes on"


def loss_of(attempt: Attempt, evidence: Evidence, now: dt.datetime) -> Ending | None:
    """How the pod was lost; None while evidence may still come, or where it had done its work.

    What is seen of the attempt now is its successor's, so nothing is taken from there.
    """
    since = min((at for pod in evidence.pods if (at := ended_at(pod)) is not None), default=None)
    heard = max((box.updated for box in boxes_of(evidence) if box.updated is not None), default=None)
    seen = Observation(state="ended", since=since or heard)
    ending = ending_of(replace(attempt, stopping="", ending=None), seen, evidence, now)
    return None if ending is None or ending.is_success else ending
