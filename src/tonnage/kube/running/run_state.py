"""The run's state as an annotation of its workload: enough for another machine to take it up.

Small by construction (an object's annotations hold 256 KiB together): evidence lines stay where they were gathered.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, replace

import msgspec

from tonnage.running.attempts import Attempt
from tonnage.running.history import Launching, RunRecord, RunState
from tonnage.running.observing import Wish

RUN_STATE = "tonnage.dev/run-state"
VERSION = 1
MOST_ATTEMPTS = 60


@dataclass(frozen=True, kw_only=True)
class KeptRun:
    """What the annotation holds."""

    version: int
    name: str
    created: dt.datetime
    launching: Launching
    wish: Wish = "run"
    state: RunState = "active"
    why: str = ""
    forgiven: int = 0
    attempts: tuple[Attempt, ...] = ()


def state_text(record: RunRecord) -> str:
    """The annotation of a run."""
    kept = KeptRun(
        version=VERSION,
        name=record.name,
        created=record.created,
        launching=record.launching,
        wish=record.wish,
        state=record.state,
        why=record.why,
        forgiven=record.forgiven,
        attempts=tuple(_short(each) for each in record.attempts[-MOST_ATTEMPTS:]),
    )
    return msgspec.json.encode(kept).decode()


def read_state(text: str) -> KeptRun | None:
    """The run an annotation describes; None where it is not ours or of a newer version."""
    try:
        kept = msgspec.json.decode(text, type=KeptRun)
    except msgspec.DecodeError:
        return None
    return kept if kept.version == VERSION else None


def _short(attempt: Attempt) -> Attempt:
    replaced = {uid: replace(each, evidence=each.evidence[:1]) for uid, each in attempt.replaced.items()}
    ending = attempt.ending
    kept = None if ending is None else replace(ending, evidence=ending.evidence[:3])
    return replace(attempt, ending=kept, replaced=replaced)
