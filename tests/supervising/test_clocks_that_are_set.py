"""A supervisor whose clock was set: it waits no hour for a back-off, and takes no jump for a hang or a deadline."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tonnage.clock import ManualClock
from tonnage.diagnosis.evidence import Evidence
from tonnage.running.attempts import Attempt, Ending, Size
from tonnage.running.history import Launching
from tonnage.running.observing import Bounds, Observation, Progress
from tonnage.running.policies import Policies
from tonnage.store.store import Store
from tonnage.supervising.loop import Supervisor

NOON = dt.datetime(2026, 3, 1, 12, 0, tzinfo=dt.UTC)
HOUR, SECOND = dt.timedelta(hours=1), dt.timedelta(seconds=1)


class SteadyPlace:
    """An attempt that makes a step a second by a clock of its own, whatever ours says."""

    def __init__(self, clock: dt.datetime) -> None:
        self.clock = clock
        self.begun = clock - 600 * SECOND
        self.launched: list[int] = []
        self.stopped = False

    def observe(self, number: int) -> Observation:
        del number
        self.clock += SECOND
        progress = Progress(step=600, seconds_per_step=1.0, when=self.clock - SECOND)
        return Observation(state="running", since=self.begun, told_at=self.clock, progress=progress)

    def launch(self, number: int, size: Size, *, resume: bool) -> None:
        del size, resume
        self.launched.append(number)

    def stop(self, number: int, grace_seconds: float) -> None:
        del number, grace_seconds
        self.stopped = True

    def evidence(self, number: int) -> Evidence:
        raise AssertionError(f"attempt {number} lives")

    def bounds(self, size: Size) -> Bounds:
        del size
        return Bounds()

    def samples(self, number: int, after: Any) -> list[Any]:
        del number, after
        return []


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    made = Store(tmp_path)
    yield made
    made.close()


def a_supervisor(
    store: Store, place: SteadyPlace, attempt: Attempt, now: dt.datetime, **policy: Any
) -> tuple[Supervisor, int]:
    run = store.create("train", "here", Launching(document=""), NOON)
    store.put_attempt(run.id, attempt)
    policies = replace(Policies(retries={"network": 3}), **policy)
    return Supervisor(store, place, policies, ManualClock(now), run.id), run.id  # type: ignore[arg-type]


@pytest.mark.parametrize("jump", [HOUR, -HOUR, 0 * HOUR])
def test_neither_hang_nor_deadline_comes_from_a_clock_that_was_set(store: Store, jump: dt.timedelta) -> None:
    place = SteadyPlace(NOON)
    running = Attempt(number=1, size=Size(), created=place.begun, started=place.begun)
    supervisor, id_ = a_supervisor(store, place, running, NOON + jump, deadline_seconds=3000.0)
    for _ in range(30):
        supervisor.look(store.run(id_))
        supervisor.clock.sleep(1)
    assert not place.stopped
    assert store.moments(id_) == []
    (attempt,) = store.run(id_).attempts
    assert attempt.started is not None
    ran = supervisor.clock.now() - attempt.started
    assert abs(ran - 630 * SECOND) < 5 * SECOND


def test_a_deadline_that_is_used_up_is_still_kept(store: Store) -> None:
    place = SteadyPlace(NOON)
    running = Attempt(number=1, size=Size(), created=place.begun, started=place.begun)
    supervisor, id_ = a_supervisor(store, place, running, NOON - HOUR, deadline_seconds=615.0)
    for _ in range(30):
        supervisor.look(store.run(id_))
        supervisor.clock.sleep(1)
    assert place.stopped


def test_a_back_off_waits_no_longer_than_the_longest_there_is(store: Store) -> None:
    place = SteadyPlace(NOON)
    ending = Ending(when=NOON, cause="network", code="NET-01")
    over = Attempt(number=1, size=Size(), created=place.begun, started=place.begun, ending=ending)
    supervisor, id_ = a_supervisor(store, place, over, NOON + SECOND)
    supervisor.look(store.run(id_))
    assert place.launched == [], "ten seconds are not over"
    supervisor.clock = ManualClock(NOON - HOUR)
    supervisor.look(store.run(id_))
    assert place.launched == [2]
