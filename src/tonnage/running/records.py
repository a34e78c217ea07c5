"""From the agents' records to what is seen of an attempt: the same for every place."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

from tonnage.running.observing import MemoryNow, Observation, Progress, Saved
from tonnage_agent.record import Record

_TOLD = ("resumed from ", "ending: ")
"""Beginnings of messages that have a field of their own."""


def observed_in(records: Sequence[Record]) -> Observation:
    """Progress, checkpoint and memory as the records of a gang say; the state is for the place to say."""
    started = [record.started_at for record in records if record.started_at is not None]
    updated = [record.updated_at for record in records if record.updated_at is not None]
    return Observation(
        state="running",
        since=_moment(min(started)) if started else None,
        progress=_progress(records),
        saved=_saved(records),
        memory=_memory(records),
        gpu_memory=_gpu_memory(records),
        gpu_activity=_gpu_activity(records),
        resumed_from=next((r.resumed_from for r in records if r.resumed_from is not None), None),
        notes=_complaints(records),
        told_at=_moment(max(updated)) if updated else None,
        skipped=tuple(dict.fromkeys(text for record in records for text in record.skipped)),
    )


def _complaints(records: Sequence[Record]) -> tuple[str, ...]:
    """What scripts say that nothing else tells: a save that failed, a loss that is no number."""
    living = [record for record in records if record.state != "ended"]  # an end is told by its finding
    said = [record.message for record in living if record.message and not record.cause]
    return tuple(
        text for text in dict.fromkeys(said) if not text.startswith(_TOLD) and "is passed over" not in text
    )


def _progress(records: Sequence[Record]) -> Progress | None:
    """The furthest step anybody reports: ranks step together, some report late."""
    stepping = [record for record in records if record.step is not None]
    if not stepping:
        return None
    best = max(stepping, key=lambda record: (record.step or 0, record.step_at or 0.0))
    return Progress(
        step=best.step or 0,
        total=best.total,
        loss=best.loss,
        seconds_per_step=best.step_seconds,
        phase=best.phase,
        when=None if best.step_at is None else _moment(best.step_at),
    )


def _saved(records: Sequence[Record]) -> Saved | None:
    whole = [record.checkpoint for record in records if "step" in record.checkpoint]
    if not whole:
        return None
    best = max(whole, key=lambda checkpoint: int(checkpoint["step"]))
    return Saved(
        step=int(best["step"]),
        when=_moment(float(best.get("when", 0.0))),
        path=str(best.get("path", "")),
        seconds=best.get("seconds"),
        size=best.get("bytes"),
    )


def _memory(records: Sequence[Record]) -> MemoryNow | None:
    """The pod nearest to its limit: it will be the first to die."""
    known = [record for record in records if "usage" in record.memory]
    if not known:
        return None
    worst = max(known, key=lambda record: int(record.memory.get("peak") or record.memory["usage"]))
    return MemoryNow(
        usage=int(worst.memory["usage"]),
        peak=worst.memory.get("peak"),
        limit=worst.memory.get("limit"),
        growth_per_second=worst.memory.get("growthPerSecond"),
        node=worst.node,
    )


def _gpu_memory(records: Sequence[Record]) -> MemoryNow | None:
    known = [(gpu, record.node) for record in records for gpu in record.gpus if "used" in gpu]
    if not known:
        return None
    gpu, node = max(known, key=lambda pair: int(pair[0]["used"]))
    return MemoryNow(usage=int(gpu["used"]), peak=gpu.get("peak"), limit=gpu.get("total"), node=node)


def _gpu_activity(records: Sequence[Record]) -> float | None:
    known = [float(gpu["activity"]) for record in records for gpu in record.gpus if "activity" in gpu]
    return sum(known) / len(known) if known else None


def _moment(seconds: float) -> dt.datetime:
    return dt.datetime.fromtimestamp(seconds, dt.UTC)
