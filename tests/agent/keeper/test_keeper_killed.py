"""Killed at any moment: what was whole stays whole, and what is found afterwards is exactly one of the states saved."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from keeper_builders import Bucket, Told, a_keeper, content_of, writer
from killing import run_killed

STATES = {step: b"state after step %d " % step * 200 for step in range(6)}


def save_steps(root: Path, steps: range, attempt: int = 1, keep: int = 2) -> None:
    keeper = a_keeper(root, attempt=attempt, keep=keep)
    for step in steps:
        keeper.save(step, writer(model=STATES[step], optim__a=STATES[step][::-1]))


def found_state(root: Path, told: Told | None = None) -> int:
    """Step of the newest whole checkpoint, whose content is the one saved; -1 where there is none."""
    found = a_keeper(root, attempt=2, skipped=told).newest()
    if found is None:
        return -1
    assert (found / "model").read_bytes() == STATES[found.step]
    assert (found / "optim/a").read_bytes() == STATES[found.step][::-1]
    return found.step


def test_killed_at_every_call_of_a_save_that_prunes(tmp_path: Path) -> None:
    save_steps(tmp_path / "before", range(2))
    shutil.copytree(tmp_path / "before", tmp_path / "whole")
    calls = run_killed(lambda: save_steps(tmp_path / "whole", range(2, 3)), None)
    assert calls > 40  # else the profiler counts nothing and this test proves nothing
    survivors = set()

    for at in range(1, calls + 1):
        root = tmp_path / str(at)
        shutil.copytree(tmp_path / "before", root)
        assert run_killed(lambda root=root: save_steps(root, range(2, 3)), at) == -1
        told = Told()
        step = found_state(root, told)
        survivors.add(step)
        assert step in (1, 2)
        assert told.skipped == []
        left = {path.name[:5] for path in root.iterdir()}
        assert left == {"step-"}, "a dead writer's debris is swept when the next attempt resumes"

    assert survivors == {1, 2}


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(num_bytes=st.integers(0, 200_000))
def test_killed_at_a_random_byte_of_the_users_own_writing(tmp_path: Path, num_bytes: int) -> None:
    root = tmp_path / os.urandom(6).hex()
    a_keeper(root).save(0, b"first")

    def write(folder: Path) -> None:
        with (folder / "state").open("wb", buffering=0) as file:
            file.write(b"x" * num_bytes)
            os.kill(os.getpid(), signal.SIGKILL)

    assert run_killed(lambda: a_keeper(root).save(1, write) and None, None) == -1
    assert content_of(a_keeper(root, attempt=2)) == b"first"


@pytest.mark.parametrize("seed", range(4))
def test_a_chain_of_attempts_each_killed_loses_no_committed_step(tmp_path: Path, seed: int) -> None:
    import random

    chance = random.Random(seed)
    newest = -1
    for attempt in range(1, 12):

        def work(attempt: int = attempt) -> None:
            keeper = a_keeper(tmp_path, attempt=attempt, keep=1)
            found = keeper.newest()
            step = found.step + 1 if found else 0
            while True:
                keeper.save(step, b"%d" % step)
                step += 1

        assert run_killed(work, chance.randrange(1, 400)) == -1
        committed = max((name.step for name in a_keeper(tmp_path, attempt=99).place.names()), default=-1)
        found = a_keeper(tmp_path, attempt=99).newest()
        assert (found.step if found else -1) == committed
        assert committed >= newest
        newest = committed

    assert newest > 3


def test_a_save_to_a_bucket_killed_at_random_calls_leaves_the_older_one(
    bucket: Bucket, tmp_path: Path
) -> None:
    a_keeper(bucket.place(tmp_path)).save(0, STATES[0])

    def work() -> None:
        a_keeper(bucket.place(tmp_path), keep=1).save(1, writer(model=STATES[1], optim=STATES[2]))

    calls = run_killed(work, None)
    assert calls > 20
    seen = set()
    for at in range(1, calls + 1, 3):
        assert run_killed(work, at) in (-1, *range(calls + 50))
        told = Told()
        found = a_keeper(bucket.place(tmp_path), attempt=2, skipped=told).newest()
        assert found is not None
        assert told.skipped == []
        seen.add(found.step)
    assert seen <= {0, 1}
