"""The view of one run: one value for the live screen, for `watch` and for `-o json`."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

import msgspec

from tonnage.running.attempts import Attempt
from tonnage.running.history import Moment, RunRecord
from tonnage.running.observing import MemoryNow, Observation


class MemoryView(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Memory now, of its limit, with its recent course."""

    usage: int
    limit: int | None = None
    peak: int | None = None
    growth_per_hour: int | None = None
    limit_in_seconds: float | None = None
    """When the limit is reached, if it goes on like this."""
    course: tuple[int, ...] = ()


class AttemptView(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """One try, as history tells it."""

    number: int
    started: dt.datetime | None = None
    ended: dt.datetime | None = None
    memory: int | None = None
    micro_batch: int | None = None
    from_step: int | None = None
    why: str = ""
    cause: str = ""
    code: str = ""
    summary: str = ""
    evidence: tuple[str, ...] = ()


class RunView(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """One run now."""

    name: str
    id: int
    place: str
    state: str
    """`waiting`, `starting`, `running`, ... while it is active; else how it ended."""
    attempt: int
    created: dt.datetime
    why: str = ""
    held_by: str = ""
    nodes: tuple[str, ...] = ()
    step: int | None = None
    total: int | None = None
    loss: float | None = None
    phase: str = ""
    seconds_per_step: float | None = None
    finishes: dt.datetime | None = None
    memory: MemoryView | None = None
    gpu_memory: MemoryView | None = None
    safe_step: int | None = None
    safe_since: dt.datetime | None = None
    ran_seconds: float = 0.0
    spent: int | None = None
    """Micro-dollars; absent where no price is known."""
    price_per_hour: int | None = None
    is_supervised: bool = True
    attempts: tuple[AttemptView, ...] = ()
    moments: tuple[Moment, ...] = ()


def view_run(
    run: RunRecord,
    observation: Observation | None,
    now: dt.datetime,
    *,
    course: Sequence[tuple[float, int]] = (),
    moments: Sequence[Moment] = (),
    is_supervised: bool = True,
) -> RunView:
    """What is known of a run now."""
    progress = observation.progress if observation else None
    saved = observation.saved if observation else None
    ran = sum(seconds_of(attempt, now) for attempt in run.attempts)
    rate = run.launching.price_per_hour
    return RunView(
        name=run.name,
        id=run.id,
        place=run.place or "this machine",
        state=_state(run, observation),
        attempt=run.current.number if run.current else 0,
        created=run.created,
        why=run.why,
        held_by=observation.held_by if observation else "",
        nodes=observation.nodes if observation else (),
        step=progress.step if progress else None,
        total=progress.total if progress else None,
        loss=progress.loss if progress else None,
        phase=progress.phase if progress else "",
        seconds_per_step=progress.seconds_per_step if progress else None,
        finishes=_finishes(observation, now),
        memory=_memory(observation.memory if observation else None, course),
        gpu_memory=_memory(observation.gpu_memory if observation else None, ()),
        safe_step=saved.step if saved else None,
        safe_since=saved.when if saved else None,
        ran_seconds=ran,
        spent=None if rate is None else round(rate * ran / 3600),
        price_per_hour=rate,
        is_supervised=is_supervised,
        attempts=tuple(_attempt(one) for one in run.attempts),
        moments=tuple(moments),
    )


def seconds_of(attempt: Attempt, now: dt.datetime) -> float:
    """How long an attempt has run."""
    if attempt.started is None:
        return 0.0
    end = attempt.ending.when if attempt.ending is not None else now
    return max((end - attempt.started).total_seconds(), 0.0)


def _state(run: RunRecord, observation: Observation | None) -> str:
    if not run.is_active:
        return run.state
    if observation is None or observation.state == "absent":
        return "starting" if run.current is None or not run.current.is_over else "between attempts"
    return observation.state


def _finishes(observation: Observation | None, now: dt.datetime) -> dt.datetime | None:
    progress = observation.progress if observation else None
    if progress is None or progress.total is None or not progress.seconds_per_step:
        return None
    left = (progress.total - progress.step) * progress.seconds_per_step
    return now + dt.timedelta(seconds=max(left, 0.0))


def _memory(now: MemoryNow | None, course: Sequence[tuple[float, int]]) -> MemoryView | None:
    if now is None:
        return None
    growth = now.growth_per_second
    is_growing = growth is not None and growth > 0
    left = None
    if is_growing and now.limit is not None and growth:
        left = max(now.limit - now.usage, 0) / growth
    return MemoryView(
        usage=now.usage,
        limit=now.limit,
        peak=now.peak,
        growth_per_hour=round(growth * 3600) if growth is not None else None,
        limit_in_seconds=left,
        course=tuple(value for _, value in course),
    )


def _attempt(attempt: Attempt) -> AttemptView:
    ending = attempt.ending
    return AttemptView(
        number=attempt.number,
        started=attempt.started,
        ended=ending.when if ending else None,
        memory=attempt.size.memory,
        micro_batch=attempt.size.micro_batch,
        from_step=attempt.from_step,
        why=attempt.why,
        cause=(ending.cause or "") if ending else "",
        code=ending.code if ending else "",
        summary=ending.summary if ending else "",
        evidence=ending.evidence if ending else (),
    )
