"""What all tests may ask for: one real cluster per test run, shared by every worker.

The first test that asks starts it; the process that began the run takes it down when all workers are done. A
run that was killed leaves its sandbox behind, named after its process id: the next run removes those whose
process is gone.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import settings

from tonnage.errors import TonnageError
from tonnage.sandbox import Sandbox, SandboxRequest, down, up
from tonnage.sandbox.locking import locked
from tonnage.sandbox.state import names

RUN = "TONNAGE_TEST_SANDBOX"
PREFIX = "pytest-"
NODES = "8xh100=2,8xa100-80=1,cpu=2"

# A busy machine is not a slow rule: how long an example takes says nothing about whether it holds.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")


def pytest_configure(config: pytest.Config) -> None:
    if hasattr(config, "workerinput"):
        return
    # Workers are started later and inherit it.
    os.environ[RUN] = f"{PREFIX}{os.getpid()}"
    for name in names():
        pid = name.removeprefix(PREFIX)
        if name.startswith(PREFIX) and pid.isdigit() and not Path(f"/proc/{pid}").exists():
            with suppress(TonnageError):  # another run is removing it right now
                down(name)


def pytest_sessionfinish(session: pytest.Session) -> None:
    if not hasattr(session.config, "workerinput"):
        down(os.environ[RUN])


@pytest.fixture(scope="session")
def sandbox(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Sandbox:
    """A running sandbox with simulated nodes; tests use namespaces of their own and leave its nodes alone."""
    base = tmp_path_factory.getbasetemp()
    with locked((base if worker_id == "master" else base.parent) / "sandbox-lock"):
        return up(SandboxRequest(name=os.environ[RUN], nodes=NODES))
