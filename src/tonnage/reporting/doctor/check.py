"""One line of a doctor's report, and the facts it may look at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

import msgspec

from tonnage.cluster.port import Answer, Permission
from tonnage.cluster.snapshot import Snapshot

ASK_LIVE = "ask the live cluster, with --context"
"""The remedy for all that a file cannot tell."""


class State(Enum):
    OK = "ok"
    ABSENT = "absent"
    PROBLEM = "problem"
    UNKNOWN = "unknown"


class Check(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was looked at, how it stands, and what to do about it."""

    area: str
    subject: str
    state: State
    text: str
    remedy: str = ""
    permissions: tuple[str, ...] = ()
    """Verbs and resources that are missing, where the check is about permissions."""


@dataclass(frozen=True)
class Facts:
    """What is known about a cluster. Nothing (None) means that it could not be asked."""

    snapshot: Snapshot
    groups: Mapping[str, Sequence[str]] | None = None
    gates: Mapping[str, bool] | None = None
    gates_missing: str = ""
    """Why the gates are not known."""
    answers: Sequence[tuple[Permission, Answer]] = field(default=())
