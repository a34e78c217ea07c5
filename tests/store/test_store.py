"""The store keeps what it acknowledged, whoever else writes, and whatever kills the writer."""

from __future__ import annotations

import datetime as dt
import os
import signal
import subprocess
import sys
from pathlib import Path

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tonnage.errors import EnvironmentProblem, RefusedError
from tonnage.running.attempts import Attempt, Ending, Size
from tonnage.running.history import HERE, Launching
from tonnage.store.opening import home, open_database
from tonnage.store.schema import VERSION
from tonnage.store.store import FILE, Store

NOW = dt.datetime(2026, 11, 15, 12, 0, tzinfo=dt.UTC)
LAUNCHING = Launching(document="kind: Run\n", first_size=Size(memory=2**30), price_per_hour=3_000_000)


@pytest.fixture
def store(tmp_path: Path):
    opened = Store(tmp_path)
    yield opened
    opened.close()


def test_a_run_reads_back_as_it_was_written(store: Store) -> None:
    run = store.create("llama", HERE, LAUNCHING, NOW)
    ending = Ending(
        when=NOW, cause="host_oom", code="MEM-01", step=9, safe_step=8, evidence=("pod: OOMKilled",)
    )
    attempt = Attempt(number=1, size=Size(memory=5), created=NOW, started=NOW, from_step=3, ending=ending)
    store.put_attempt(run.id, attempt)
    again = store.find("llama")
    assert again is not None
    assert (again.launching, again.attempts, again.state) == (LAUNCHING, (attempt,), "active")


def test_a_second_active_run_of_one_name_is_refused_and_a_later_one_is_not(store: Store) -> None:
    first = store.create("llama", HERE, LAUNCHING, NOW)
    with pytest.raises(RefusedError, match="RUN-101"):
        store.create("llama", HERE, LAUNCHING, NOW)
    store.create("llama", "prod", LAUNCHING, NOW)
    store.set_state(first.id, "finished", "done", NOW)
    second = store.create("llama", HERE, LAUNCHING, NOW)
    newest, numbered = store.find("llama"), store.find(f"llama#{first.id}")
    assert newest is not None
    assert newest.id == second.id
    assert numbered is not None
    assert numbered.ended == NOW
    assert [run.id for run in store.runs(active_only=True)] == [second.id, second.id - 1]


def test_a_moment_with_a_key_is_told_once(store: Store) -> None:
    run = store.create("llama", HERE, LAUNCHING, NOW)
    assert store.tell(run.id, NOW, "held by quota", key="wait-1")
    assert not store.tell(run.id, NOW, "held by quota", key="wait-1")
    assert store.tell(run.id, NOW, "again")
    assert store.tell(run.id, NOW, "again")
    told = store.moments(run.id)
    assert [moment.text for moment in told] == ["held by quota", "again", "again"]
    assert store.moments(run.id, after=told[0].number) == told[1:]


@given(chunks=st.lists(st.lists(st.integers(0, 2**60), min_size=1, max_size=20), max_size=8))
def test_samples_come_back_in_order_and_their_peak_is_exact(
    tmp_path_factory: pytest.TempPathFactory, chunks: list[list[int]]
) -> None:
    store = Store(tmp_path_factory.mktemp("store"))
    run = store.create("llama", HERE, LAUNCHING, NOW)
    wanted, clock = [], 1000.0
    for chunk in chunks:
        readings = [(clock + index, value) for index, value in enumerate(chunk)]
        clock += len(chunk)
        store.samples.add(run.id, 1, 0, "memory", readings)
        wanted += readings
    assert store.samples.series(run.id, 1, 0, "memory") == wanted
    assert store.samples.peak(run.id, 1, 0, "memory") == max((v for _, v in wanted), default=None)
    assert store.samples.last(run.id, 1, 0, "memory") == (wanted[-1][0] if wanted else None)
    store.close()


def test_a_chunk_sent_again_after_a_crash_is_kept_once(store: Store) -> None:
    run = store.create("llama", HERE, LAUNCHING, NOW)
    for _ in range(2):
        store.samples.add(run.id, 1, 0, "memory", [(1.0, 5), (2.0, 6)])
    assert store.samples.series(run.id, 1, 0, "memory") == [(1.0, 5), (2.0, 6)]


def test_what_was_acknowledged_survives_a_writer_killed_at_any_moment(tmp_path: Path) -> None:
    Store(tmp_path).close()
    writer = f"""
import datetime as dt, pathlib
from tonnage.store.store import Store
from tonnage.running.history import Launching
store = Store(pathlib.Path({str(tmp_path)!r}))
run = store.create("kept", "", Launching(document="x"), dt.datetime.now(dt.UTC))
number = 0
while True:
    number += 1
    store.tell(run.id, dt.datetime.now(dt.UTC), str(number))
    print(number, flush=True)
"""
    process = subprocess.Popen([sys.executable, "-c", writer], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    acknowledged = [int(next(process.stdout)) for _ in range(25)][-1]
    os.kill(process.pid, signal.SIGKILL)
    acknowledged = max([acknowledged, *(int(line) for line in process.stdout.read().split())])
    process.stdout.close()
    process.wait()
    store = Store(tmp_path)
    run = store.find("kept")
    assert run is not None
    assert acknowledged <= len(store.moments(run.id)) <= acknowledged + 1
    store.close()


def test_two_processes_may_write_one_store(tmp_path: Path) -> None:
    one, two = Store(tmp_path), Store(tmp_path)
    run = one.create("shared", HERE, LAUNCHING, NOW)
    two.set_wish(run.id, "stop")
    assert one.run(run.id).wish == "stop"
    one.close()
    two.close()


def test_a_file_that_is_no_store_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"my thesis" * 1000)
    with pytest.raises(EnvironmentProblem, match="STORE-001"):
        Store(tmp_path)
    assert (tmp_path / FILE).read_bytes().startswith(b"my thesis")


def test_a_store_from_a_newer_version_is_refused_and_not_touched(tmp_path: Path) -> None:
    Store(tmp_path).close()
    raw = apsw.Connection(str(tmp_path / FILE))
    raw.execute(f"PRAGMA user_version = {VERSION + 1}")
    raw.close()
    with pytest.raises(EnvironmentProblem, match="STORE-006"):
        open_database(tmp_path / FILE)


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(EnvironmentProblem, match="STORE-005"):
        Store(tmp_path / "file" / "below")


def test_home_follows_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TONNAGE_HOME", str(tmp_path))
    assert home() == tmp_path
    monkeypatch.delenv("TONNAGE_HOME")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert home() == tmp_path / "tonnage"


def test_a_name_means_its_active_run_and_two_of_one_name_are_refused(tmp_path: Path) -> None:
    store = Store(tmp_path)
    first = store.create("bert", "", Launching(document="a"), NOW)
    store.set_state(first.id, "stopped", "", NOW)
    second = store.create("bert", "", Launching(document="b"), NOW)
    with pytest.raises(RefusedError) as refused:
        store.reopen(first.id)
    assert refused.value.problem.code == "RUN-101"
    store.set_state(second.id, "stopped", "", NOW)
    store.reopen(first.id)
    store.amend(first.id, Launching(document="c"))
    found = store.find("bert")
    assert found is not None
    assert (found.id, found.launching.document) == (first.id, "c")


def test_what_ended_before_a_moment_is_not_read(tmp_path: Path) -> None:
    store = Store(tmp_path)
    run = store.create("bert", "", Launching(document=""), NOW)
    store.samples.add(run.id, 1, 0, "memory", [(10.0, 1), (11.0, 2)])
    store.samples.add(run.id, 1, 0, "memory", [(20.0, 3)])
    assert store.samples.series(run.id, 1, 0, "memory", after=11.0) == [(20.0, 3)]
    assert len(store.samples.series(run.id, 1, 0, "memory")) == 3
