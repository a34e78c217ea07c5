"""The small things `down` relies on: the ledger survives crashes, ports are given once, locks let go."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tonnage.sandbox.ledger import Entry, Ledger
from tonnage.sandbox.locking import locked, try_locked
from tonnage.sandbox.places import Places, cache_home, state_home
from tonnage.sandbox.ports import is_free, reserve


def test_the_ledger_gives_back_what_was_recorded_in_order(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger")
    ledger.record("process", "etcd", tier="etcd")
    ledger.record("link", "tn1")

    assert ledger.entries() == [Entry("process", "etcd", {"tier": "etcd"}), Entry("link", "tn1")]


def test_a_line_torn_by_a_crash_hides_no_other(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger")
    ledger.record("link", "tn1")
    with ledger.path.open("a") as file:
        file.write('{"kind": "mou')

    assert ledger.entries() == [Entry("link", "tn1")]


def test_an_entry_after_a_torn_line_is_still_found(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger")
    with ledger.path.open("a") as file:
        file.write('{"kind": "mou')
    ledger.record("link", "tn2")

    assert Entry("link", "tn2") in ledger.entries()


def test_sandboxes_side_by_side_never_get_the_same_port(tmp_path: Path) -> None:
    one, two = Places(tmp_path / "one"), Places(tmp_path / "two")
    one.folder("."), two.folder(".")
    given = [*reserve(one, ["a", "b", "c"]).values(), *reserve(two, ["a", "b", "c"]).values()]

    assert len(set(given)) == 6
    assert all(20000 <= port < 30000 for port in given)


def test_a_port_keeps_its_name(tmp_path: Path) -> None:
    places = Places(tmp_path / "one")
    places.folder(".")

    assert reserve(places, ["a"]) == reserve(places, ["a"])


def test_a_port_somebody_listens_on_is_not_free() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert not is_free(server.getsockname()[1])


def test_a_held_folder_is_seen_to_be_held_and_a_killed_holder_lets_go(tmp_path: Path) -> None:
    program = (
        "import sys, time; from pathlib import Path; from tonnage.sandbox.locking import locked\n"
        "with locked(Path(sys.argv[1])): print('held', flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        with try_locked(tmp_path) as is_mine:
            assert not is_mine
        holder.kill()
        holder.wait()
    with try_locked(tmp_path) as is_mine:
        assert is_mine


def test_a_lock_on_a_removed_folder_is_taken_on_the_new_one(tmp_path: Path) -> None:
    folder = tmp_path / "sandboxes"
    with locked(folder):
        folder.rmdir()
    with locked(folder):
        assert folder.exists()


def test_state_and_cache_follow_xdg_and_relative_paths_are_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/somewhere")
    monkeypatch.setenv("XDG_CACHE_HOME", "not/absolute")

    assert state_home() == Path("/somewhere/tonnage/sandboxes")
    assert cache_home() == Path(os.environ["HOME"]) / ".cache/tonnage"
