"""What is remembered of a run: the document, what was wished, every attempt, and the moments worth telling."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from tonnage.running.attempts import Attempt, Size
from tonnage.running.observing import Refit, Wish

RunState = Literal["active", "finished", "failed", "stopped", "suspended"]
"""`active` until nothing more will happen by itself; `suspended` holds nothing and can be resumed."""
HERE = ""
"""The place of runs on this machine; others are named by their context."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Launching:
    """What every attempt of a run shares: settled once, when it was planned."""

    document: str
    """The Run as it was given, with everything that was worked out filled in (YAML)."""
    file: str = ""
    """Where it was read from."""
    folder: str = ""
    """Folder that relative paths in it mean."""
    namespace: str = ""
    lineage: str = ""
    """Name of the folder below the checkpoints' place: a run begins anew, its attempts go on from each other."""
    first_size: Size = field(default_factory=Size)
    refits: tuple[Refit, ...] = ()
    price_per_hour: int | None = None
    """Micro-dollars of the whole gang."""
    price_origin: str = ""
    probe_steps: int | None = None
    checkpoint_every: float | None = None
    """Seconds, where planning settled it; None leaves it to the keeper (`auto`)."""
    grace_seconds: float = 30.0
    failure_seconds: float | None = None
    """Mean time between interruptions that planning assumed."""
    rendering: Mapping[str, Any] = field(default_factory=dict)
    """What objects of a cluster are made from, as JSON: `planned`, `facts`, `hasPython`, `code`; empty elsewhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """One run."""

    id: int
    name: str
    place: str
    created: dt.datetime
    launching: Launching
    wish: Wish = "run"
    state: RunState = "active"
    why: str = ""
    """Why it is in this state, in one line."""
    ended: dt.datetime | None = None
    attempts: tuple[Attempt, ...] = ()
    forgiven: int = 0
    """Attempts up to this number were before its owner last resumed it: they use no budget any more."""

    @property
    def is_active(self) -> bool:
        return self.state == "active"

    @property
    def current(self) -> Attempt | None:
        return self.attempts[-1] if self.attempts else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """Something that happened, as it was told."""

    number: int
    when: dt.datetime
    text: str
    key: str = ""
    kind: str = "note"
    """`note`, `death`, `remedy`, `resume`, `wait`, `end`, `planned`, and `detail`: more of the one before."""
