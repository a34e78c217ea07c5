"""What a supervisor is told to do. Every action carries its reason; those that cost carry their price."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from tonnage.running.attempts import Attempt, Ending, Size


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """Start an attempt of this size; not before `after`."""

    number: int
    size: Size
    why: str
    after: dt.datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """Write the ending of an attempt into its history."""

    attempt: Attempt
    ending: Ending


@dataclass(frozen=True, slots=True, kw_only=True)
class RaiseInPlace:
    """Give the running pods more memory without a restart."""

    memory: int
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Save:
    """Ask the running ranks for a checkpoint now; they go on."""

    why: str
    key: str
    """Told once per key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """End the current attempt; it gets its grace period to save.

    Whoever carries it out writes `cause` into the attempt's `stopping` first, so that the ending is put down to it.
    """

    why: str
    cause: str = "stopped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspend:
    """Hold the run: it keeps its history and checkpoints and holds nothing else.

    Whoever carries it out writes the wish `suspend` first: a run whose wish is `run` is launched again.
    """

    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Finish:
    """It is done."""

    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GiveUp:
    """No attempt would do better: say why and what to try."""

    why: str
    hint: str = ""
    code: str = ""
    brief: str = ""
    """The same for a reader who has just been told how the last attempt ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tell:
    """Something its owner should know now."""

    text: str
    key: str
    """Told once per key."""


Action = Launch | Record | RaiseInPlace | Save | Stop | Suspend | Finish | GiveUp | Tell
