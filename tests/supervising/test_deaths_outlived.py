"""A pod whose successor already runs when somebody looks: the attempt goes on, and its death is in the history."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tonnage.clock import ManualClock
from tonnage.diagnosis.evidence import ContainerEnd, Evidence, PodEnd
from tonnage.kube.running.remembering import Memory
from tonnage.kube.running.run_state import read_state, state_text
from tonnage.running.attempts import Attempt, Ending, Size
from tonnage.running.history import Launching
from tonnage.running.losses import loss_of
from tonnage.running.observing import Bounds, Observation
from tonnage.running.policies import Policies
from tonnage.running.wording import lost
from tonnage.store.store import Store
from tonnage.supervising.loop import Supervisor

NOON = dt.datetime(2026, 11, 15, 12, tzinfo=dt.UTC)
CRASHED = Evidence(
    pods=(PodEnd(index=0, name="run-a1-x", node="n1", phase="Running", is_gone=True, is_lost=True),),
    gone_nodes=("n1",),
    records={0: {"state": "running", "step": 40, "updatedAt": NOON.timestamp()}},
)


class HealedCluster:
    """A cluster whose Job controller was faster than its supervisor."""

    def __init__(self, lost: Mapping[str, Evidence], state: str = "running") -> None:
        self.lost, self.state = lost, state
        self.target = None

    def observe(self, number: int) -> Observation:
        del number
        return Observation(state=self.state, since=NOON)  # type: ignore[arg-type]

    def replaced(self, number: int, known: Collection[str]) -> dict[str, Evidence]:
        assert number == 1
        return {uid: each for uid, each in self.lost.items() if uid not in known}

    def bounds(self, size: Size) -> Bounds:
        del size
        return Bounds()

    def samples(self, number: int, after: Mapping[int, float]) -> list[Any]:
        del number, after
        return []


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    made = Store(tmp_path)
    yield made
    made.close()


def a_run(store: Store, place: HealedCluster) -> tuple[Supervisor, int]:
    run = store.create("train", "prod", Launching(document=""), NOON)
    store.put_attempt(run.id, Attempt(number=1, size=Size(), created=NOON, started=NOON))
    return Supervisor(store, place, Policies(retries={}), ManualClock(NOON), run.id), run.id  # type: ignore[arg-type]


def test_the_death_is_kept_once_and_the_attempt_goes_on(store: Store) -> None:
    supervisor, id_ = a_run(store, HealedCluster({"a": CRASHED}))
    for _ in range(3):
        supervisor.look(store.run(id_))
    (attempt,) = store.run(id_).attempts
    assert attempt.ending is None
    assert [(each.code, each.cause, each.step) for each in attempt.replaced.values()] == [
        ("PRE-04", "node", 40)
    ]
    told = [moment.text for moment in store.moments(id_) if moment.kind in ("death", "detail")]
    assert len([text for text in told if "node lost" in text]) == 1
    assert any("another pod in its place" in text for text in told)


def test_a_death_that_nothing_explains_yet_waits_for_its_reasons() -> None:
    bare = Evidence(pods=(PodEnd(index=0, name="x", node="n1", phase="Running", is_gone=True, is_lost=True),))
    bare = replace(bare, records={0: {"state": "running", "updatedAt": NOON.timestamp()}})
    attempt = Attempt(number=1, size=Size(), created=NOON)
    assert loss_of(attempt, bare, NOON + dt.timedelta(seconds=3)) is None
    late = loss_of(attempt, bare, NOON + dt.timedelta(seconds=11))
    assert late is not None
    assert (late.code, late.evidence) == ("EXT-01", ("pod x was deleted while it ran   pods",))


def test_what_a_pod_that_nobody_heard_of_has_lost_is_not_known() -> None:
    gone = Evidence(pods=(PodEnd(index=0, name="x", node="n1", phase="Running", is_gone=True, is_lost=True),))
    attempt = Attempt(number=1, size=Size(), created=NOON, started=NOON)
    ending = loss_of(attempt, gone, NOON + dt.timedelta(seconds=60))
    assert ending is not None
    assert (ending.lost_seconds, lost(ending)) == (None, "an unknown amount of work")


def test_a_pod_that_had_done_its_work_was_no_death() -> None:
    ended = ContainerEnd(name="main", exit_code=0, reason="Completed", finished=NOON)
    done = Evidence(pods=(PodEnd(index=0, name="x", phase="Succeeded", containers=(ended,)),), is_final=True)
    assert loss_of(Attempt(number=1, size=Size(), created=NOON), done, NOON) is None


def test_another_machine_learns_of_it(store: Store) -> None:
    _, id_ = a_run(store, HealedCluster({}))
    lost = Ending(when=NOON, cause="node", code="PRE-04", evidence=("one", "two"))
    store.put_attempt(id_, replace(store.run(id_).attempts[0], replaced={"a": lost}))
    kept = read_state(state_text(store.run(id_)))
    assert kept is not None
    assert kept.attempts[0].replaced["a"].evidence == ("one",)


def test_which_pod_was_missed_first_outlives_the_supervisor(tmp_path: Path) -> None:
    Memory(tmp_path).lose(["a"])
    Memory(tmp_path).lose(["b"])
    assert Memory(tmp_path).lost == ("a",)
