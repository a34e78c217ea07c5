"""`down` leaves no process, mount, cgroup, link or file behind, however `up` ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from real_node_cluster import require_a_machine_for_real_nodes

from tonnage.sandbox import state
from tonnage.sandbox.ledger import Ledger
from tonnage.sandbox.places import Places
from tonnage.sandbox.processes import find_processes
from tonnage.sandbox.realnode import cgroups

pytestmark = [pytest.mark.realnode, pytest.mark.sandbox]

TONNAGE = (sys.executable, "-m", "tonnage", "sandbox")
SETTINGS = (
    "vm/overcommit_memory",
    "vm/panic_on_oom",
    "kernel/panic",
    "kernel/panic_on_oops",
    "net/ipv4/ip_forward",
)


@pytest.fixture
def name() -> Iterator[str]:
    """A sandbox's name of this worker's own; whatever is left of it goes when the test ends."""
    require_a_machine_for_real_nodes()
    name = f"rnl-{os.environ.get('PYTEST_XDIST_WORKER', 'main')}"
    _down(name)
    yield name
    _down(name)


def test_a_whole_sandbox_goes_without_a_trace(name: str) -> None:
    before = _machine()
    subprocess.run([*TONNAGE, "up", "--name", name, "--real-nodes", "1"], check=True, capture_output=True)
    sandbox = state.load(name)
    assert sandbox is not None
    assert cgroups.exists(f"tn-{sandbox.id}-1")

    _down(name)

    _assert_nothing_is_left(sandbox)
    assert _machine() == before


def _has_bridge(ledger: Ledger) -> bool:
    return any(entry.kind == "link" for entry in ledger.entries())


def _has_kubelet(ledger: Ledger) -> bool:
    return any((ledger.path.parent / "nodes").glob("*/run/kubelet.pid"))


@pytest.mark.parametrize("is_time", [_has_bridge, _has_kubelet])
def test_nothing_is_left_of_a_start_that_was_killed(name: str, is_time: Callable[[Ledger], bool]) -> None:
    before = _machine()
    command = [*TONNAGE, "up", "--name", name, "--real-nodes", "1"]
    starting = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    ledger = Ledger(Places.of(name).ledger)
    while not is_time(ledger):
        assert starting.poll() is None, "up ended before it could be killed"
        time.sleep(0.01)
    os.kill(starting.pid, signal.SIGKILL)
    starting.wait()
    sandbox = state.load(name)
    assert sandbox is not None

    _down(name)

    _assert_nothing_is_left(sandbox)
    assert _machine() == before


def _down(name: str) -> None:
    subprocess.run([*TONNAGE, "down", "--name", name], check=True, capture_output=True)


def _assert_nothing_is_left(sandbox: state.Sandbox) -> None:
    links = subprocess.run(["ip", "-brief", "link"], capture_output=True, text=True, check=True).stdout
    routes = subprocess.run(["ip", "route"], capture_output=True, text=True, check=True).stdout
    left = [root for root in cgroups.hierarchies() for _ in root.glob(f"tn-{sandbox.id}-*")]

    assert find_processes(sandbox.id) == []
    assert left == []
    assert f"tn{sandbox.id[:8]}" not in links
    assert f"10.245.{sandbox.subnet}." not in routes
    assert not sandbox.places.root.exists()


def _machine() -> dict[str, str]:
    """What must be the same before and after, whatever else runs on this machine meanwhile."""
    rules = subprocess.run(["nft", "list", "ruleset"], capture_output=True, text=True, check=False).stdout
    settings = {setting: Path(f"/proc/sys/{setting}").read_text() for setting in SETTINGS}
    return {"mounts": Path("/proc/self/mounts").read_text(), "firewall": rules, **settings}
