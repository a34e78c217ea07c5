"""Several writers in one place at once: no mixing, no loss, and the newer attempt's lineage wins."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from interleaving import interleave
from keeper_builders import Told, a_keeper, writer

from tonnage_agent.keeper import SaveFailed


def save_many(root: Path, attempt: int, steps: range, keep: int = 2) -> None:
    """An attempt that goes on saving whatever happens to a single save."""
    keeper = a_keeper(root, attempt=attempt, keep=keep)
    for step in steps:
        content = b"attempt %d step %d " % (attempt, step) * 20
        try:
            keeper.save(step, writer(a=content, b=content[::-1]))
        except SaveFailed:
            continue


def check_whole(root: Path, reader: int = 99) -> tuple[int, int]:
    """Attempt and step of the newest, which must be whole, unmixed, and the newest there is."""
    told = Told()
    keeper = a_keeper(root, attempt=reader, skipped=told)
    found = keeper.newest()
    assert found is not None
    assert told.skipped == []
    assert found.name == max(keeper.place.names())
    expected = b"attempt %d step %d " % (found.name.attempt, found.step) * 20
    assert (found / "a").read_bytes() == expected
    assert (found / "b").read_bytes() == expected[::-1]
    return found.name.attempt, found.step


@pytest.mark.parametrize("seed", range(12))
def test_two_attempts_at_once_never_mix_and_the_newer_wins(tmp_path: Path, seed: int) -> None:
    works = [lambda: save_many(tmp_path, 1, range(10, 14)), lambda: save_many(tmp_path, 2, range(5, 9))]

    assert interleave(works, random.Random(seed)) == [0, 0]
    assert check_whole(tmp_path) == (2, 8)


@pytest.mark.parametrize("seed", range(12))
def test_two_writers_of_the_same_attempt_and_steps_both_keep_what_they_saved(
    tmp_path: Path, seed: int
) -> None:
    works = [lambda: save_many(tmp_path, 1, range(4))] * 2

    assert interleave(works, random.Random(seed)) == [0, 0]
    assert check_whole(tmp_path) == (1, 3)


@pytest.mark.parametrize("seed", range(16))
def test_writers_that_die_at_random_moments_harm_nobody(tmp_path: Path, seed: int) -> None:
    save_many(tmp_path, 1, range(1))
    chance = random.Random(seed)
    works = [lambda n=n: save_many(tmp_path, n, range(1, 5), keep=1) for n in (1, 2, 2, 3)]

    interleave(works, chance, kills=0.004)

    check_whole(tmp_path)


@pytest.mark.parametrize("seed", range(12))
def test_an_attempt_that_resumes_while_an_old_one_writes_finds_a_whole_one(tmp_path: Path, seed: int) -> None:
    save_many(tmp_path, 1, range(2))
    said = tmp_path / "said"

    def resume() -> None:
        told = Told()
        found = a_keeper(tmp_path, attempt=2, skipped=told).newest()
        assert found is not None
        assert told.skipped == []
        said.write_text(str(found.step))

    ends = interleave([lambda: save_many(tmp_path, 1, range(2, 8), keep=1), resume], random.Random(seed))

    assert ends == [0, 0]
    assert int(said.read_text()) >= 1
