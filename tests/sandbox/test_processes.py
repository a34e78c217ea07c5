"""Processes of a sandbox: started apart, found again, ended completely, never mistaken for another."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from tonnage.errors import EnvironmentProblem
from tonnage.sandbox import Sandbox, SandboxRequest
from tonnage.sandbox.places import Places
from tonnage.sandbox.processes import (
    find_processes,
    is_alive,
    pid_of,
    start,
    started_at,
    stop,
    stop_all,
    wait_until,
)


@pytest.fixture
def box(tmp_path: Path):
    """A sandbox with nothing in it yet."""
    places = Places(tmp_path / "box")
    places.folder(".")
    made = Sandbox(name="box", id=os.urandom(6).hex(), places=places, request=SandboxRequest(), subnet=1)
    yield made
    stop_all(made.id)


def wait_for(check, seconds: float = 10) -> None:
    deadline = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.02)


def test_a_process_has_a_session_and_a_log_of_its_own(box: Sandbox) -> None:
    pid = start(box, "part", ["sh", "-c", "echo hello; pwd; sleep 60"], tier="plane")
    log = box.places.logs / "part.log"

    wait_for(lambda: "hello" in log.read_text() and str(box.places.root) in log.read_text())
    assert os.getsid(pid) == pid
    assert is_alive(box, "part")


def test_stopping_ends_a_process_and_its_children(box: Sandbox) -> None:
    start(box, "part", ["sh", "-c", "sleep 61 & sleep 62 & wait"], tier="nodes")
    wait_for(lambda: len(find_processes(box.id)) == 3)

    stop(box, "part")

    assert find_processes(box.id) == []
    assert not is_alive(box, "part")


def test_a_process_that_will_not_listen_is_killed(box: Sandbox) -> None:
    start(
        box, "deaf", ["sh", "-c", "trap '' TERM; echo ready; while :; do sleep 1; done"], tier="controllers"
    )
    wait_for(lambda: "ready" in (box.places.logs / "deaf.log").read_text())

    stop_all(box.id)

    assert find_processes(box.id) == []


def test_a_process_whose_id_was_never_written_down_is_found_all_the_same(box: Sandbox) -> None:
    start(box, "part", ["sleep", "60"], tier="plane")
    box.places.ledger.unlink()

    assert pid_of(box.ledger, "part") is None
    stop_all(box.id)
    assert find_processes(box.id) == []


def test_a_strangers_process_with_the_same_id_is_not_ours(box: Sandbox) -> None:
    box.ledger.record("pid", "part", pid=str(os.getpid()), started="1")

    assert not is_alive(box, "part")


def test_a_part_that_ends_is_started_again_when_asked(box: Sandbox) -> None:
    start(box, "shaky", ["sh", "-c", "echo began; exit 3"], tier="controllers", restart=True)
    log = box.places.logs / "shaky.log"

    wait_for(lambda: log.read_text().count("began") >= 2)
    assert "ended with 3" in log.read_text()
    assert is_alive(box, "shaky")


def test_waiting_for_a_part_that_dies_says_what_it_said_last(box: Sandbox) -> None:
    start(box, "part", ["sh", "-c", "echo no such luck; exit 1"], tier="plane")

    with pytest.raises(EnvironmentProblem, match="no such luck") as failed:
        wait_until(box, "part", lambda: False, seconds=10)
    assert failed.value.problem.code == "BOX-020"


def test_waiting_too_long_is_another_matter_than_dying(box: Sandbox) -> None:
    start(box, "part", ["sleep", "60"], tier="plane")

    with pytest.raises(EnvironmentProblem) as failed:
        wait_until(box, "part", lambda: False, seconds=0.2)
    assert failed.value.problem.code == "BOX-021"


def test_json_log_lines_are_shown_as_what_they_say(box: Sandbox) -> None:
    line = '{"level":"ERROR","msg":"cannot listen","err":"address in use","time":"2026-01-01T00:00:00Z"}'
    start(box, "part", ["sh", "-c", f"echo '{line}'"], tier="plane")

    with pytest.raises(EnvironmentProblem, match="cannot listen: address in use"):
        wait_until(box, "part", lambda: False, seconds=10)


def test_a_program_with_brackets_in_its_name_is_read_right(tmp_path: Path, box: Sandbox) -> None:
    odd = tmp_path / "a) (b"
    odd.symlink_to("/bin/sleep")
    pid = start(box, "odd", [str(odd), "60"], tier="plane")

    wait_for(lambda: "a) (b" in Path(f"/proc/{pid}/comm").read_text())
    assert started_at(pid) == Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]


def test_the_users_settings_reach_no_component_behind_our_back(box: Sandbox, monkeypatch) -> None:
    monkeypatch.setenv("ETCD_DATA_DIR", "/elsewhere")
    monkeypatch.setenv("NO_PROXY", "example.test")
    start(box, "part", ["env"], tier="plane")
    log = box.places.logs / "part.log"

    wait_for(lambda: "TONNAGE_SANDBOX_ID" in log.read_text())
    assert "ETCD_DATA_DIR" not in log.read_text()
    assert "NO_PROXY=example.test,localhost,127.0.0.0/8" in log.read_text()
