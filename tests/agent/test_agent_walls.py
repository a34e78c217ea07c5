"""Deadline and budget are kept by the agent itself: warn, ask for a checkpoint, stop, with codes of their own."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wrapped_commands import Agent, python

from tonnage_agent.blackbox.earlier import seconds_before
from tonnage_agent.settings import Settings
from tonnage_agent.walls import WallWatch, cost_so_far, nearest_wall

SAVER = """
import json, os, signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: None)  # what the SDK does: remember, act at the next step
seen = 0
while True:
    asked = json.load(open(os.environ["TONNAGE_CONTROL"]))
    if asked["save"] > seen: seen = asked["save"]; print("saved", flush=True)
    if asked.get("stop"): print("stopping for", asked["stop"], flush=True); sys.exit(0)
    time.sleep(0.02)
"""


class TestPure:
    def test_a_budget_is_a_moment_too(self):
        wall = nearest_wall(1000.0, None, budget=10_000_000, spent=4_000_000, price_per_hour=3_000_000)

        assert (wall.at, wall.cause, wall.exit_code) == (1000 + 7200, "budget", 82)

    def test_the_nearer_wall_counts(self):
        assert nearest_wall(0.0, 100.0, 10, 0, 1).cause == "deadline"
        assert nearest_wall(0.0, 1e9, 10, 0, 1000).cause == "budget"

    def test_a_budget_without_a_price_is_no_wall_unless_it_is_spent(self):
        assert nearest_wall(0.0, None, 10, 0, 0) is None
        assert nearest_wall(5.0, None, 10, 10, 0).at == 5.0

    @given(st.floats(1, 1e7), st.floats(0, 600), st.none() | st.floats(0, 1000))
    def test_warning_saving_and_stopping_come_once_and_in_order(self, given_seconds, grace, save_seconds):
        watch = WallWatch(nearest_wall(0.0, given_seconds, None, 0, 0), grace)
        moments = [*(given_seconds * number / 500 for number in range(500)), given_seconds]
        due = [what for what in (watch.due(now, save_seconds) for now in moments) if what]

        assert due in (
            ["save", "stop"],
            ["warn", "save", "stop"],
            ["save", "warn", "stop"],
            ["stop"],
            ["warn", "stop"],
        )
        assert due[-1] == "stop"
        assert watch.wall.stops_at(grace) >= watch.wall.at - grace

    def test_cost_is_price_times_time(self):
        assert cost_so_far(1800, 5, 1_000_000) == 500_005


def test_a_script_that_listens_saves_and_stops_before_the_deadline(tmp_path):
    deadline = time.time() + 4
    agent = Agent(tmp_path, *python(SAVER), deadline=str(deadline), grace_seconds="1")

    code, out, err = agent.end()
    assert code == 81
    assert out == b"saved\nstopping for deadline\n"
    assert b"asking for a checkpoint" in err
    assert deadline - 1.2 < time.time() < deadline + 1
    assert (agent.record["cause"], agent.record["exitCode"]) == ("deadline", 81)
    assert agent.record["message"] == "deadline reached"


def test_a_script_that_does_not_listen_gets_sigterm_and_then_sigkill(tmp_path):
    deadline = time.time() + 4
    script = "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(60)"
    agent = Agent(tmp_path, *python(script), deadline=str(deadline), grace_seconds="1")

    assert agent.end()[0] == 81
    assert time.time() < deadline + 1.5
    assert agent.record["signal"] == 9
    assert agent.record["message"] == "deadline reached; still running at the end of its grace period, killed"


def test_time_that_is_left_counts_from_the_start_in_the_pod_not_from_when_it_was_made(tmp_path):
    began = time.monotonic()
    agent = Agent(tmp_path, *python(SAVER), seconds_left="4", grace_seconds="1")

    assert agent.end()[0] == 81
    assert 2.5 < time.monotonic() - began < 8
    assert agent.record["cause"] == "deadline"


def test_a_pod_in_place_of_an_evicted_one_has_only_what_that_one_left(tmp_path):
    """A Job gives the new pod the same variables; its record says what the old one used."""
    first = Agent(tmp_path, "sleep", "60", seconds_left="6", grace_seconds="1")
    first.until(lambda record: record["updatedAt"] - record["startedAt"] > 2)
    first.kill_all()
    began = time.monotonic()
    second = Agent(tmp_path, "sleep", "60", seconds_left="6", grace_seconds="1")

    assert second.end()[0] == 81
    assert time.monotonic() - began < 5.5
    assert 2 < second.record["ranBefore"] < 5


@pytest.mark.parametrize("left_behind", ["", "{", "[]", '{"run":"another","startedAt":1,"updatedAt":9000}'])
def test_what_is_no_record_of_this_run_takes_no_time_away(tmp_path, left_behind):
    folder = tmp_path / "record" / "attempt-1" / "node-0"
    folder.mkdir(parents=True)
    (folder / "record.json").write_text(left_behind)

    assert seconds_before(Settings(run="mine", record=str(tmp_path / "record"))) == 0.0


def test_a_budget_that_runs_out_has_its_own_code(tmp_path):
    agent = Agent(
        tmp_path,
        "sleep",
        "60",
        budget="3000",
        spent="1000",
        price_per_hour=str(2000 * 1200),
        grace_seconds="1",
    )
    began = time.monotonic()

    assert agent.end()[0] == 82
    assert time.monotonic() - began < 6
    assert agent.record["cause"] == "budget"


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ({"deadline": "1000"}, 81),
        ({"seconds_left": "0"}, 81),
        ({"budget": "10", "spent": "10", "price_per_hour": "5"}, 82),
    ],
)
def test_what_is_over_before_it_began_is_not_started(tmp_path, settings, code):
    agent = Agent(tmp_path, "touch", str(tmp_path / "started"), **settings)

    assert agent.end()[0] == code
    assert not (tmp_path / "started").exists()
    assert json.loads((tmp_path / "message").read_bytes())["message"].endswith(
        "before the command was started"
    )


def test_a_deadline_that_is_almost_there_leaves_time_to_save_and_is_the_cause(tmp_path):
    """Two seconds are left of a grace period of thirty: the script gets most of one of them."""
    agent = Agent(tmp_path, *python(SAVER), seconds_left="2", grace_seconds="30")

    code, out, _ = agent.end()
    assert code == 81
    assert out.endswith(b"stopping for deadline\n")
    assert (agent.record["cause"], agent.record["message"]) == ("deadline", "deadline reached")
    assert "signal" not in agent.record


PRINTER = """
import time
for step in range(1000):
    print(f"step {step + 1}/1000 loss 1.5", flush=True)
    time.sleep(0.01)
"""


def test_a_probe_ends_a_script_that_only_prints_its_steps(tmp_path):
    agent = Agent(tmp_path, *python(PRINTER), probe_steps="20")

    code, _, _ = agent.end()
    assert code == 0
    assert 20 <= agent.record["step"] < 500
    assert (agent.record["cause"], agent.record["exitCode"]) == ("probe", 0)
    assert agent.record["message"] == "the probe is over"
