"""Signals as a terminal leaves them, and nothing left behind.

A shell that runs the tests in the background ignores SIGINT in all of them; a test that fails half-way has not ended
its agent, whose command may wait for ever.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest
from wrapped_commands import Agent


@pytest.fixture(autouse=True, scope="session")
def signals_of_a_terminal() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(autouse=True)
def no_agent_outlives_its_test() -> Iterator[None]:
    yield
    while Agent.started:
        agent = Agent.started.pop()
        if agent.process.poll() is None:
            agent.kill_all()
