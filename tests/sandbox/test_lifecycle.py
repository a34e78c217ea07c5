"""Taking down what is odd: damaged, half made, busy or in a place nobody may write."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tonnage.errors import EnvironmentProblem, UsageError
from tonnage.sandbox import Sandbox, SandboxRequest, down, find
from tonnage.sandbox.failing import explained
from tonnage.sandbox.kwok import patience_with
from tonnage.sandbox.lifecycle import _claimed
from tonnage.sandbox.locking import locked
from tonnage.sandbox.places import Places, state_home
from tonnage.sandbox.processes import find_processes, start, stop_all
from tonnage.sandbox.reporting import report_all, report_text
from tonnage.sandbox.state import load, names


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


@pytest.fixture
def half_made():
    """A sandbox whose start was killed after its first process."""
    places = Places.of("half")
    places.folder(".")
    made = Sandbox(
        name="half", id=os.urandom(6).hex(), places=places, request=SandboxRequest(name="half"), subnet=1
    )
    made.ledger.record("sandbox", made.id)
    made = made.saved()
    start(made, "etcd", ["sleep", "60"], tier="etcd")
    yield made
    stop_all(made.id)


def test_what_was_saved_is_loaded_again(half_made: Sandbox) -> None:
    assert load("half") == half_made


def test_a_half_made_sandbox_is_reported_not_found_and_taken_down(half_made: Sandbox, tmp_path: Path) -> None:
    assert report_all("half") == [{"name": "half", "state": "half made"}]
    assert "tonnage sandbox down --name half" in report_text(report_all("half"))
    with pytest.raises(UsageError, match="not ready"):
        find("half")

    assert down("half")

    assert find_processes(half_made.id) == []
    assert list(tmp_path.iterdir()) == []
    assert not down("half")


def test_a_damaged_state_file_hides_no_process(half_made: Sandbox) -> None:
    half_made.places.state.write_text("{ not json")

    assert down("half")

    assert find_processes(half_made.id) == []
    assert not half_made.places.root.exists()


def test_a_damaged_state_file_hides_no_node_cgroup_or_link(
    half_made: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    start(half_made, "real-1", ["sleep", "60"], tier="nodes")
    for kind, id_ in (("link", "tn0br"), ("cgroup", "tn-0-1"), ("link", "tn0v1"), ("node", "real-1")):
        half_made.ledger.record(kind, id_)
    half_made.places.state.write_text("{ not json")
    undone: list[str] = []
    monkeypatch.setattr("tonnage.sandbox.realnode.cgroups.remove", undone.append)
    monkeypatch.setattr("tonnage.sandbox.realnode.network.remove_link", undone.append)

    assert down("half")

    assert undone == ["tn0v1", "tn-0-1", "tn0br"]
    assert find_processes(half_made.id) == []


def test_starting_over_a_damaged_state_file_leaves_no_process_of_the_old_one(half_made: Sandbox) -> None:
    half_made.places.state.write_text("{ not json")

    with _claimed(SandboxRequest(name="half"), {}) as fresh:
        assert fresh.id != half_made.id

    assert find_processes(half_made.id) == []


def test_a_sandbox_another_command_works_on_is_left_alone(half_made: Sandbox) -> None:
    with locked(half_made.places.root):
        assert report_all("half")[0]["state"] == "starting"
        with pytest.raises(EnvironmentProblem) as busy:
            down("half")

    assert busy.value.problem.code == "BOX-013"
    assert find_processes(half_made.id) != []


def test_more_nodes_are_waited_for_longer() -> None:
    assert patience_with(0) >= 60
    assert patience_with(500) - patience_with(0) >= 100
    assert patience_with(5000) > 1000


def test_folders_that_are_no_sandboxes_are_not_listed() -> None:
    (state_home() / "Not A Sandbox").mkdir(parents=True)

    assert names() == []


def test_what_this_machine_refuses_is_said_with_the_place() -> None:
    with pytest.raises(EnvironmentProblem, match="Not a directory") as refused, explained():
        Path("/dev/null/x").write_text("")
    assert refused.value.problem.code == "BOX-014"
    assert refused.value.problem.where == "/dev/null/x"


def test_an_api_server_that_is_too_slow_is_this_machines_problem_not_our_bug() -> None:
    with pytest.raises(EnvironmentProblem, match="too slow") as refused, explained():
        raise TimeoutError("nodes")
    assert refused.value.problem.code == "BOX-022"
