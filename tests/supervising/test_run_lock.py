"""One supervisor per run, and asking who it is must not keep it from being one."""

from __future__ import annotations

import threading
from pathlib import Path

from tonnage.supervising.locking import RunLock, holder_of


def test_one_holds_it_and_is_known_by_its_pid(tmp_path: Path) -> None:
    import os

    first, second = RunLock(tmp_path / "lock"), RunLock(tmp_path / "lock")
    assert holder_of(tmp_path / "lock") is None
    assert first.take()
    assert not second.take(patience=0.05)
    assert holder_of(tmp_path / "lock") == os.getpid()
    first.release()
    assert holder_of(tmp_path / "lock") is None
    assert second.take()
    second.release()


def test_asking_all_the_time_keeps_nobody_from_taking_it(tmp_path: Path) -> None:
    path, over = tmp_path / "lock", threading.Event()
    path.touch()

    def ask() -> None:
        while not over.is_set():
            holder_of(path)

    asking = [threading.Thread(target=ask) for _ in range(4)]
    for each in asking:
        each.start()
    try:
        for _ in range(200):
            lock = RunLock(path)
            assert lock.take()
            lock.release()
    finally:
        over.set()
        for each in asking:
            each.join()
