"""What the agent hears, and that telling it never holds training up."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sdk_builders import Agent, a_script

from tonnage_agent.progress import Reporter


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Agent]:
    listening = Agent(tmp_path / "s")
    yield listening
    listening.close()


def told(agent: Agent, event: str) -> list[dict[str, Any]]:
    return [heard for heard in agent.heard() if heard["event"] == event]


def test_every_step_is_told_with_its_loss_and_times(agent: Agent) -> None:
    script = a_script(environment={"TONNAGE_SOCKET": str(agent.path), "RANK": "1", "WORLD_SIZE": "2"})

    for step in script.run.steps(2):
        script.clock.passed += 3
        script.run.note(loss=1.5 - step)

    heard = told(agent, "step")
    assert [(e["step"], e["total"], e["loss"], e["seconds"], e["rank"]) for e in heard] == [
        (0, 2, 1.5, 3.0, 1),
        (1, 2, 0.5, 3.0, 1),
    ]


def test_waiting_is_counted_per_step(agent: Agent) -> None:
    script = a_script(environment={"TONNAGE_SOCKET": str(agent.path)})

    def slow_batches() -> Iterator[int]:
        for number in range(2):
            time.sleep(0.02)
            yield number

    batches = script.run.loading(slow_batches())
    for _ in script.run.steps(2):
        next(batches)
        with script.run.waiting("collective"):
            time.sleep(0.01)

    heard = told(agent, "step")
    assert all(0.02 <= event["data"] < 1 for event in heard)
    assert all(0.01 <= event["collective"] < 1 for event in heard)


def test_an_unknown_kind_of_waiting_is_refused() -> None:
    with (
        pytest.raises(ValueError, match="expected one of data, collective"),
        a_script().run.waiting("coffee"),
    ):
        pass


def test_phases_begin_and_end_even_when_they_fail(agent: Agent) -> None:
    script = a_script(environment={"TONNAGE_SOCKET": str(agent.path)})

    with pytest.raises(RuntimeError), script.run.phase("eval"):
        raise RuntimeError

    assert [(e["name"], e["state"]) for e in told(agent, "phase")] == [("eval", "begin"), ("eval", "end")]


def test_checkpoints_resumes_and_torn_ones_are_told(agent: Agent, tmp_path: Path) -> None:
    environment = {"TONNAGE_SOCKET": str(agent.path)}
    first = a_script(tmp_path / "c", environment)
    first.run.resume()
    first.run.save(1, b"abc")
    made = first.run.save(2, b"abcd")
    assert made is not None
    events = {event["event"]: event for event in agent.heard()}
    assert (events["resumed"]["step"], events["checkpoint"]["step"]) == (-1, 2)
    assert (events["checkpoint"]["path"], events["checkpoint"]["bytes"]) == (made.path, 4)
    (made / "state").write_bytes(b"abcX")

    second = a_script(tmp_path / "c", environment)
    second.run.resume()

    events = {event["event"]: event for event in agent.heard()}
    assert events["resumed"]["step"] == 1
    assert events["skipped"]["path"] == made.path
    assert events["skipped"]["why"] == "state has another content than was written"
    assert (
        second.lines[0]
        == f"checkpoint {made.path} is passed over: state has another content than was written"
    )


def test_a_loss_that_is_no_number_is_left_out(agent: Agent) -> None:
    script = a_script(environment={"TONNAGE_SOCKET": str(agent.path)})

    for _ in script.run.steps(1):
        script.run.note(loss=float("nan"))

    assert "loss" not in told(agent, "step")[0]


def test_an_agent_that_does_not_listen_costs_datagrams_and_no_time(agent: Agent) -> None:
    reporter = Reporter(str(agent.path))
    began = time.perf_counter()

    for step in range(2000):
        reporter.step(step)

    assert time.perf_counter() - began < 2
    heard = agent.heard()
    assert 0 < len(heard) < 2000
    reporter.close()


def test_an_agent_that_is_gone_is_forgotten_for_a_while(agent: Agent) -> None:
    reporter = Reporter(str(agent.path))
    reporter.step(1)
    agent.close()

    for step in range(1000):
        reporter.step(step)
    Reporter("/nonexistent/socket").step(1)
    reporter.close()


def test_long_texts_fit_into_a_datagram(agent: Agent) -> None:
    reporter = Reporter(str(agent.path))

    reporter.event("skipped", path="/x" * 9000, why="y" * 90000)

    (heard,) = agent.heard()
    assert len(str(heard)) < 8192
    reporter.close()
