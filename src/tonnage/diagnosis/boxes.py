"""The agents' black boxes as typed values: whatever is missing, torn or of another type is simply not known."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tonnage.diagnosis.evidence import Evidence
from tonnage_agent.record import Record, read_record

_FULL_BYTES = 2**20
_LATEST = 4e9
"""Seconds since 1970 beyond which a time is a mistake."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """What one pod was doing the last time anybody looked."""

    node: int
    record: Record
    usage: int | None
    """Bytes of RAM, now or at most."""
    needed: int | None
    """The same without what the kernel could have given back (page cache): what an OOM kill is about."""
    limit: int | None
    oom_kills: int
    counts_kills: bool
    """Whether the kernel counts them here: no kill and not known are two things."""
    growth_per_second: float | None
    shm_used: int | None
    shm_size: int | None
    full_disks: tuple[str, ...]
    """Names of places where nothing more can be written."""
    started: dt.datetime | None
    updated: dt.datetime | None
    saved_step: int | None
    saved: dt.datetime | None
    """The newest whole checkpoint: its step and when it was written."""

    @property
    def fullness(self) -> float | None:
        """How much of the limit was really needed; page cache counts only where nothing tells it apart."""
        held = self.needed if self.needed is not None else self.usage
        return held / self.limit if self.limit and held is not None else None

    @property
    def lived_seconds(self) -> float:
        if self.started is None or self.updated is None:
            return 0.0
        return max((self.updated - self.started).total_seconds(), 0.0)


def boxes_of(evidence: Evidence) -> tuple[Box, ...]:
    """Every record, in order of the pods."""
    return tuple(_box(node, raw) for node, raw in sorted(evidence.records.items()))


def _box(node: int, raw: Mapping[str, Any]) -> Box:
    record = read_record(dict(raw))
    memory, shm = record.memory, record.shm
    amounts = [_whole(memory.get("peak")), _whole(memory.get("usage"))]
    return Box(
        node=node,
        record=record,
        usage=max((each for each in amounts if each is not None), default=None),
        needed=_whole(memory.get("needed")),
        limit=_whole(memory.get("limit")),
        oom_kills=_whole(memory.get("oomKills")) or 0,
        counts_kills=_whole(memory.get("oomKills")) is not None,
        growth_per_second=_number(memory.get("growthPerSecond")),
        shm_used=_whole(shm.get("usedBytes")),
        shm_size=_whole(shm.get("totalBytes")),
        full_disks=tuple(name for name, room in sorted(record.disk.items()) if _is_full(room)),
        started=_time(record.started_at),
        updated=_time(record.updated_at),
        saved_step=_whole(record.checkpoint.get("step")),
        saved=_time(record.checkpoint.get("when")),
    )


def _is_full(room: object) -> bool:
    free = _whole(room.get("freeBytes")) if isinstance(room, Mapping) else None
    return free is not None and free < _FULL_BYTES


def _whole(value: object) -> int | None:
    number = _number(value)
    return int(number) if number is not None and number >= 0 else None


def _number(value: object) -> float | None:
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        return None
    return float(value)


def _time(value: object) -> dt.datetime | None:
    seconds = _number(value)
    if seconds is None or not 0 <= seconds < _LATEST:
        return None
    return dt.datetime.fromtimestamp(seconds, dt.UTC)
