"""Who holds the memory: ranks, loader workers and others are told apart, on recorded trees and on real processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from wrapped_commands import Agent, python

from tonnage_agent.sampling.processes import Kinds, proportional_bytes
from tonnage_agent.wrapping.family import catches, descendants, read_process

PAGE = os.sysconf("SC_PAGE_SIZE")


def plant(proc: Path, pid: int, parent: int, name: str, command: str, pages: int = 100) -> None:
    folder = proc / str(pid)
    folder.mkdir(parents=True)
    numbers = [parent, pid, 1, 0, -1, 0, 0, 0, 0, 0, 5, 6, 7, 8, 20, 0, 1, 0, 99, 0, pages]
    (folder / "stat").write_text(f"{pid} ({name}) S {' '.join(map(str, numbers))} 0 0\n")
    (folder / "cmdline").write_text("\0".join(command.split()) + "\0")


def kinds_of(proc: Path, main: int, ranks: tuple[int, ...] = ()) -> dict[int, str]:
    everybody = [read_process(int(entry.name), str(proc)) for entry in proc.iterdir()]
    return {held.pid: held.kind for held in Kinds(str(proc)).held([p for p in everybody if p], main, ranks)}


def test_a_process_with_a_wild_name_is_read(tmp_path):
    plant(tmp_path, 7, 1, "a) S 1 (b", "x", pages=3)
    found = read_process(7, str(tmp_path))

    assert (found.name, found.parent, found.resident_bytes, found.cpu_ticks) == ("a) S 1 (b", 1, 3 * PAGE, 26)


def test_a_plain_trainer_and_its_forked_workers(tmp_path):
    plant(tmp_path, 10, 1, "python", "python train.py")
    plant(tmp_path, 11, 10, "python", "python train.py")
    plant(tmp_path, 12, 10, "pt_data_worker", "python train.py")
    plant(tmp_path, 13, 10, "python", "python -c from multiprocessing.resource_tracker import main;main(5)")
    plant(
        tmp_path,
        14,
        10,
        "python",
        "python -c from multiprocessing.spawn import spawn_main; spawn_main(tracker_fd=5)",
    )

    assert kinds_of(tmp_path, 10) == {10: "main", 11: "loader", 12: "loader", 13: "other", 14: "loader"}


def test_the_ranks_of_a_launcher_are_main_and_the_launcher_is_not(tmp_path):
    plant(tmp_path, 10, 1, "torchrun", "/usr/bin/python /usr/bin/torchrun --nproc-per-node 2 train.py")
    plant(tmp_path, 11, 10, "python", "/usr/bin/python -u train.py")
    plant(tmp_path, 12, 10, "python", "/usr/bin/python -u train.py")
    plant(tmp_path, 13, 12, "python", "/usr/bin/python -u train.py")

    assert kinds_of(tmp_path, 10) == {10: "other", 11: "main", 12: "main", 13: "loader"}


def test_spawned_ranks_are_known_by_what_they_tell(tmp_path):
    plant(tmp_path, 10, 1, "python", "python train.py")
    plant(tmp_path, 11, 10, "python", "python -c from multiprocessing.spawn import spawn_main; spawn_main()")

    assert kinds_of(tmp_path, 10, ranks=(11,))[11] == "main"


def test_the_largest_comes_first(tmp_path):
    plant(tmp_path, 10, 1, "python", "python train.py", pages=5)
    plant(tmp_path, 11, 10, "python", "python train.py", pages=50)
    found = Kinds(str(tmp_path)).held([read_process(pid, str(tmp_path)) for pid in (10, 11)], 10)

    assert [held.bytes for held in found] == [50 * PAGE, 5 * PAGE]


def test_a_circle_of_parents_is_no_endless_walk(tmp_path):
    plant(tmp_path, 10, 11, "a", "a")
    plant(tmp_path, 11, 10, "b", "b")
    both = [read_process(pid, str(tmp_path)) for pid in (10, 11)]

    assert [process.pid for process in descendants(10, both)] == [11]


def test_real_workers_of_a_real_trainer(tmp_path):
    script = (
        "import multiprocessing as mp, time\n"
        "held = bytearray(30 << 20)\n"
        "workers = [mp.get_context('fork').Process(target=time.sleep, args=(60,)) for _ in range(2)]\n"
        "for worker in workers: worker.start()\n"
        "print('ready', flush=True); time.sleep(60)\n"
    )
    agent = Agent(tmp_path, *python(script))
    record = agent.until(lambda record: len(record["processes"]) == 3, seconds=30)
    agent.process.terminate()
    agent.end()

    assert record["processes"][0]["bytes"] > 30 << 20
    assert sorted(process["kind"] for process in record["processes"]) == ["loader", "loader", "main"]


def test_proportional_memory_does_not_count_shared_pages_twice():
    script = (
        "import os, sys, time\nheld = bytearray(b'x') * (40 << 20)\n"
        "if os.fork() == 0: time.sleep(60)\nprint(flush=True); time.sleep(60)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, start_new_session=True
    ) as process:
        process.stdout.readline()
        family = [
            process.pid,
            *(
                int(pid)
                for pid in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
            ),
        ]
        shares = [proportional_bytes(pid) for pid in family]
        os.killpg(process.pid, 9)

    if None in shares:
        pytest.skip("this kernel has no smaps_rollup")
    assert len(shares) == 2
    assert 40 << 20 < sum(shares) < 70 << 20


def test_a_handler_is_seen_from_outside():
    assert not catches(os.getpid(), 10)
    assert catches(os.getpid(), 2)  # Python's own KeyboardInterrupt
