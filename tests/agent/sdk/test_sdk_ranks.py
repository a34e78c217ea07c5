"""Ranks that agree: real processes over pipes, each with a clock of its own."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from sdk_builders import ManualClock

from tonnage_agent import sdk
from tonnage_agent.keeper import SaveFailed
from tonnage_agent.keeper.folder import FolderPlace


class ThreadRanks:
    """Ranks as threads of one process, meeting at a barrier: what a process group does, without one."""

    def __init__(self, world: int) -> None:
        self.barrier = threading.Barrier(world, timeout=30)
        self.told: list[Any] = [None] * world
        self.num_agreements = 0

    def of(self, rank: int) -> Any:
        group = self

        class One:
            world = len(group.told)
            can_agree = True

            def __init__(self) -> None:
                self.rank = rank

            def largest(self, values: Sequence[float]) -> list[float]:
                if rank == 0:
                    group.num_agreements += 1
                return [max(column) for column in zip(*self.gather(list(values)), strict=True)]

            def gather(self, value: Any) -> list[Any]:
                group.told[rank] = json.dumps(value)
                group.barrier.wait()
                everything = [json.loads(each) for each in group.told]
                group.barrier.wait()
                return everything

        return One()


def together(world: int, work: Callable[[int, Any], Any]) -> list[Any]:
    """What each rank's work returned, or raised."""
    ranks, results = ThreadRanks(world), [None] * world

    def one(rank: int) -> None:
        try:
            results[rank] = work(rank, ranks.of(rank))
        except BaseException as error:
            results[rank] = error

    threads = [threading.Thread(target=one, args=(rank,)) for rank in range(world)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [*results, ranks.num_agreements]


def a_rank(place: Path, ranks: Any, clock: ManualClock, **options: Any) -> sdk.Run:
    environment = {"RANK": str(ranks.rank), "WORLD_SIZE": str(ranks.world), "TONNAGE_ATTEMPT": "1"}
    return sdk.attach(
        checkpoints=place,
        environment={**environment, **options.pop("environment", {})},
        ranks=ranks,
        clock=clock,
        say=lambda _: None,
        **options,
    )


def shard(rank: int) -> Callable[[Path], None]:
    return lambda folder: (folder / f"shard-{rank}").write_bytes(b"%d" % rank) and None


def test_all_ranks_save_at_the_same_steps_though_their_clocks_differ(tmp_path: Path) -> None:
    def train(rank: int, ranks: Any) -> list[int]:
        clock = ManualClock()
        run = a_rank(tmp_path, ranks, clock, every=10, keep=50)
        made, now = [], [0]

        def write(folder: Path) -> None:
            made.append(now[0])
            shard(rank)(folder)

        for now[0] in run.steps(60, save=write, sharded=True):
            clock.passed += 0.5 + rank * 0.3
        return made

    first, second, third, num_agreements = together(3, train)

    assert first == second == third
    assert len(first) >= 3
    assert first[-1] == 59
    assert num_agreements < 45  # about once a second of rank 0's clock, not at every step
    newest = max(FolderPlace(tmp_path).names())
    files = {path.name for path in (tmp_path / str(newest)).iterdir()}
    assert files == {"shard-0", "shard-1", "shard-2", "tonnage-manifest.json"}


def test_one_rank_that_cannot_write_fails_the_save_for_all_and_leaves_nothing(tmp_path: Path) -> None:
    def train(rank: int, ranks: Any) -> Any:
        run = a_rank(tmp_path, ranks, ManualClock(), on_failure="raise")

        def write(folder: Path) -> None:
            shard(rank)(folder)
            if rank == 1:
                raise OSError(28, "No space left on device")

        return run.save(1, write, sharded=True)

    first, second, _ = together(2, train)

    for error in (first, second):
        assert isinstance(error, SaveFailed)
        assert "rank 1: the disk is full" in str(error)
    assert list(tmp_path.iterdir()) == []


def test_two_ranks_that_write_the_same_file_are_told_so(tmp_path: Path) -> None:
    def train(_: int, ranks: Any) -> Any:
        run = a_rank(tmp_path, ranks, ManualClock(), on_failure="raise")
        return run.save(1, lambda folder: (folder / "model.pt").write_bytes(b"x") and None, sharded=True)

    first, second, _ = together(2, train)

    assert "two ranks wrote the same file model.pt" in str(first)
    assert "two ranks wrote the same file model.pt" in str(second)
    assert list(tmp_path.iterdir()) == []


def test_all_ranks_resume_from_the_checkpoint_that_rank_0_found_whole(tmp_path: Path) -> None:
    def train(rank: int, ranks: Any) -> Any:
        run = a_rank(tmp_path, ranks, ManualClock(), keep=9)
        for step in (3, 7):
            run.save(step, shard(rank), sharded=True)
        return None

    def resume(rank: int, ranks: Any) -> Any:
        run = a_rank(tmp_path, ranks, ManualClock(), environment={"TONNAGE_ATTEMPT": "2"})
        saved = run.resume()
        assert saved is not None
        return saved.step, (saved / f"shard-{rank}").read_bytes(), run.next_step

    together(2, train)
    (tmp_path / "step-0000000007.attempt-0001" / "shard-1").write_bytes(b"X")

    assert together(2, resume)[:2] == [(3, b"0", 4), (3, b"1", 4)]


def test_a_place_that_is_not_shared_by_the_nodes_is_found_out(tmp_path: Path) -> None:
    def train(rank: int, ranks: Any) -> Any:
        run = a_rank(tmp_path / str(rank), ranks, ManualClock(), on_failure="raise")
        return run.save(1, shard(rank), sharded=True)

    first, second, _ = together(2, train)

    assert "shard-1 is missing" in str(first)
    assert "shard-1 is missing" in str(second)


@pytest.mark.parametrize("who", [0, 1])
def test_a_stop_that_one_ranks_agent_asks_for_ends_all_at_the_same_step(tmp_path: Path, who: int) -> None:
    (tmp_path / "control").write_text('{"stop": "budget"}')

    def train(rank: int, ranks: Any) -> Any:
        control = {"TONNAGE_CONTROL": str(tmp_path / "control")} if rank == who else {}
        run = a_rank(tmp_path / "c", ranks, ManualClock(), environment=control, every=9999)
        made = []
        try:
            for step in run.steps(50, save=shard(rank), sharded=True):
                made.append(step)
        except SystemExit as ended:
            return made, ended.code
        return made, None

    first, second, _ = together(2, train)

    assert first == second
    assert first[1] == 82
    assert [name.step for name in FolderPlace(tmp_path / "c").names()] == [first[0][-1]]
