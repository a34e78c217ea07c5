"""What later tests do to nodes: crash, partition, reconfigure. Each does what it says, and can be undone."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from real_node_cluster import LiveCluster, a_pod, is_ready, python

from tonnage.errors import EnvironmentProblem
from tonnage.sandbox import realnode
from tonnage.sandbox.processes import find_processes

pytestmark = [pytest.mark.realnode, pytest.mark.sandbox, pytest.mark.xdist_group("realnode")]


def test_reconfiguring_restarts_only_the_kubelet(cluster: LiveCluster) -> None:
    cluster.create(a_pod("undisturbed", "sleep", "600", nodeName="real-1"))
    before = cluster.running("undisturbed")["status"]["containerStatuses"][0]

    realnode.reconfigure(cluster.sandbox, "real-1", {"maxPods": 55})
    changed = cluster.sandbox.api.get("/api/v1/nodes/real-1")["status"]
    realnode.reconfigure(cluster.sandbox, "real-1", {})
    restored = cluster.sandbox.api.get("/api/v1/nodes/real-1")["status"]

    after = cluster.running("undisturbed")["status"]["containerStatuses"][0]
    assert (changed["allocatable"]["pods"], restored["allocatable"]["pods"]) == ("55", "110")
    assert restored["allocatable"]["nvidia.com/gpu"] == "8"
    assert (after["containerID"], after["restartCount"]) == (before["containerID"], 0)
    cluster.delete("undisturbed")


def test_a_node_that_registers_anew_announces_its_gpus_again(cluster: LiveCluster) -> None:
    cluster.sandbox.api.delete("/api/v1/nodes/real-2")

    realnode.reconfigure(cluster.sandbox, "real-2", {})

    found = cluster.node_when("real-2", lambda node: "nvidia.com/gpu" in node["status"]["allocatable"])
    assert found["status"]["allocatable"]["nvidia.com/gpu"] == "8"


def test_a_crashed_node_is_noticed_and_comes_back_with_its_disk(cluster: LiveCluster) -> None:
    node = realnode.node_called(cluster.sandbox, "real-2")
    claimed = node.volumes / "left-behind"
    claimed.write_text("still here")

    realnode.crash(node)
    assert find_processes(cluster.sandbox.id, node.name) == []
    cluster.node_when("real-2", lambda found: not is_ready(found))
    realnode.reboot(cluster.sandbox, node)

    pod = cluster.run(a_pod("after-the-crash", "true", nodeName="real-2"))
    assert pod["status"]["phase"] == "Succeeded"
    assert claimed.read_text() == "still here"
    claimed.unlink()


def test_a_partitioned_node_works_on_unseen(cluster: LiveCluster) -> None:
    node = realnode.node_called(cluster.sandbox, "real-1")
    count = ("import time", "while True: print('alive', flush=True); time.sleep(0.2)")
    cluster.create(a_pod("works-on", *python(*count), nodeName="real-1"))
    cluster.running("works-on")

    realnode.partition(node)
    try:
        cluster.node_when("real-1", lambda found: not is_ready(found))
        lines = _log_lines(node.root)
        time.sleep(1)
        assert _log_lines(node.root) > lines
    finally:
        realnode.heal(node)
    cluster.node_when("real-1", is_ready)
    cluster.delete("works-on")


def test_an_unknown_node_is_answered_with_the_known_ones(cluster: LiveCluster) -> None:
    with pytest.raises(EnvironmentProblem) as raised:
        realnode.node_called(cluster.sandbox, "real-9")

    assert raised.value.problem.expected == "real-1, real-2"


def _log_lines(root: Path) -> int:
    (log,) = root.glob("var/log/pods/default_works-on_*/main/0.log")
    return len(log.read_text().splitlines())
