"""One sandbox with two real nodes for all tests of this folder, started when the first of them asks."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

import pytest
from real_node_cluster import LiveCluster, require_a_machine_for_real_nodes

from tonnage.sandbox import SandboxRequest, down, up


@pytest.fixture(scope="session")
def cluster() -> Iterator[LiveCluster]:
    """Two real nodes and a simulated one. Tests that break a node put it right again before they end."""
    require_a_machine_for_real_nodes()
    name = f"rn-{os.environ.get('PYTEST_XDIST_WORKER', 'main')}"
    down(name)
    began = time.monotonic()
    sandbox = up(SandboxRequest(name=name, nodes="8xh100=1", real_nodes=2, fast_node_loss=True))
    try:
        yield LiveCluster(sandbox, time.monotonic() - began)
    finally:
        down(name)
