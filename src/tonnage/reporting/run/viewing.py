"""The view of one run: one value for the live screen, for `watch` and for `-o json`."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

import msgspec

from tonnage.memory.series import Point, growth_of
from tonnage.memory.series.growing import LEAST_POINTS
from tonnage.reporting.run.finishing import Finish, finish_of
from tonnage.running.attempts import Attempt
from tonnage.running.history import Moment, RunRecord
from tonnage.running.observing import MemoryNow, Observation
from tonnage.running.spending import rate_of, seconds_of, spent_on

COURSE_POINTS = 120
"""So many of the last readings are a course."""


class MemoryView(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Memory now, of its limit, with its recent course."""

    usage: int
    limit: int | None = None
    peak: int | None = None
    growth_per_hour: int | None = None
    """0 where it is steady; absent where it was not watched for long enough."""
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
    ended: dt.datetime | None = None
    why: str = ""
    held_by: str = ""
    nodes: tuple[str, ...] = ()
    step: int | None = None
    total: int | None = None
    loss: float | None = None
    phase: str = ""
    seconds_per_step: float | None = None
    finishes: dt.datetime | None = None
    finishes_within: float | None = None
    """Seconds it may be earlier or later, by its own pace so far."""
    seconds_left: float | None = None
    memory: MemoryView | None = None
    gpu_memory: MemoryView | None = None
    gpu_activity: float | None = None
    """Percent of the time the GPUs were busy, over all of them."""
    gpu_activity_course: tuple[int, ...] = ()
    safe_step: int | None = None
    safe_since: dt.datetime | None = None
    ran_seconds: float = 0.0
    spent: int | None = None
    """Micro-dollars; absent where no price is known."""
    price_per_hour: int | None = None
    expected_cost: int | None = None
    """Micro-dollars at its end, at the pace it has."""
    budget: int | None = None
    deadline_seconds: float | None = None
    """Time that all attempts together may run."""
    is_supervised: bool = True
    attempts: tuple[AttemptView, ...] = ()
    moments: tuple[Moment, ...] = ()


class Courses(msgspec.Struct, frozen=True):
    """What the pod that is shown held lately: moments (seconds since 1970) and values."""

    memory: Sequence[tuple[float, int]] = ()
    needed: Sequence[tuple[float, int]] = ()
    """The same without what the kernel could take back."""
    gpu_memory: Sequence[tuple[float, int]] = ()
    gpu_activity: Sequence[tuple[float, int]] = ()
    """Percent."""


class Limits(msgspec.Struct, frozen=True):
    """What the document says of the whole run."""

    budget: int | None = None
    """Micro-dollars."""
    deadline_seconds: float | None = None
    steps: int | None = None
    """How many it wants to make."""


def view_run(
    run: RunRecord,
    observation: Observation | None,
    now: dt.datetime,
    *,
    courses: Courses | None = None,
    limits: Limits | None = None,
    moments: Sequence[Moment] = (),
    is_supervised: bool = True,
) -> RunView:
    """What is known of a run now.

    Growth is judged by what cannot be taken back: that of page cache is no leak.
    """
    courses = courses or Courses()
    progress = observation.progress if observation else None
    saved = observation.saved if observation else None
    ending = run.current.ending if run.current else None
    ran = sum(seconds_of(attempt, now) for attempt in run.attempts)
    rate = rate_of(run.launching, run.current.size if run.current else run.launching.first_size)
    spent = None if rate is None else spent_on(run.launching, run.attempts, now)
    finish = finish_of(progress, run.current, now) if run.is_active else Finish()
    left = finish.seconds_left
    limits = limits or Limits()
    return RunView(
        name=run.name,
        id=run.id,
        place=run.place or "this machine",
        state=_state(run, observation),
        attempt=run.current.number if run.current else 0,
        created=run.created,
        ended=run.ended,
        why=run.why,
        held_by=observation.held_by if observation else "",
        nodes=observation.nodes if observation else (),
        step=progress.step if progress else ending.step if ending else None,
        total=(progress.total if progress else None) or limits.steps,
        loss=progress.loss if progress else None,
        phase=progress.phase if progress else "",
        seconds_per_step=progress.seconds_per_step if progress else None,
        finishes=finish.at,
        finishes_within=finish.within,
        seconds_left=left,
        memory=_memory(observation.memory if observation else None, courses.memory, courses.needed),
        gpu_memory=_memory(
            observation.gpu_memory if observation else None, courses.gpu_memory, courses.gpu_memory
        ),
        gpu_activity=observation.gpu_activity if observation else None,
        gpu_activity_course=tuple(value for _, value in courses.gpu_activity[-COURSE_POINTS:]),
        safe_step=saved.step if saved else _saved_before(run),
        safe_since=saved.when if saved else None,
        ran_seconds=ran,
        spent=spent,
        price_per_hour=rate,
        expected_cost=None if spent is None or left is None else spent + round((rate or 0) * left / 3600),
        budget=limits.budget,
        deadline_seconds=limits.deadline_seconds,
        is_supervised=is_supervised,
        attempts=tuple(_attempt(one) for one in run.attempts),
        moments=tuple(moments),
    )


def _saved_before(run: RunRecord) -> int | None:
    """The newest step that an attempt which is over has saved."""
    known = [one.ending.safe_step for one in run.attempts if one.ending and one.ending.safe_step is not None]
    return max(known, default=None)


def _state(run: RunRecord, observation: Observation | None) -> str:
    if not run.is_active:
        return run.state
    if observation is None or observation.state == "absent":
        return "starting" if run.current is None or not run.current.is_over else "between attempts"
    return observation.state


def _memory(
    now: MemoryNow | None, course: Sequence[tuple[float, int]], needed: Sequence[tuple[float, int]]
) -> MemoryView | None:
    if now is None:
        return None
    growth = _growth(now, needed)
    left = max(now.limit - now.usage, 0) / growth if growth and now.limit is not None else None
    return MemoryView(
        usage=now.usage,
        limit=now.limit,
        peak=now.peak,
        growth_per_hour=None if growth is None else round(growth * 3600),
        limit_in_seconds=left,
        # History is written in chunks; what is held now is its newest point.
        course=(*(value for _, value in course), now.usage)[-COURSE_POINTS:],
    )


def _growth(now: MemoryNow, needed: Sequence[tuple[float, int]]) -> float | None:
    """Bytes per second; 0 where it is steady, None where nobody can tell yet."""
    if len(needed) >= LEAST_POINTS:
        found = growth_of([Point(*each) for each in needed], limit=now.limit)
        return found.bytes_per_second if found.is_growing else 0.0
    return now.growth_per_second if now.growth_per_second and now.growth_per_second > 0 else None


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
