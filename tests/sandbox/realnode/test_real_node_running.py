"""Containers on real nodes really run, really end, and end as Kubernetes says they do."""

from __future__ import annotations

import pytest
from real_node_cluster import LiveCluster, a_pod, ended, is_ready, python

pytestmark = [pytest.mark.realnode, pytest.mark.sandbox, pytest.mark.xdist_group("realnode")]


def test_two_real_nodes_become_ready_in_seconds(cluster: LiveCluster) -> None:
    nodes = cluster.sandbox.api.get("/api/v1/nodes?labelSelector=tonnage.dev/real-node=true")["items"]

    assert [node["metadata"]["name"] for node in nodes] == ["real-1", "real-2"]
    assert all(is_ready(node) for node in nodes)
    assert {node["status"]["nodeInfo"]["kubeletVersion"] for node in nodes} == {"v1.36.4"}
    assert cluster.seconds_to_start < 120, "about 10 s on two quiet cores"


def test_a_pod_of_the_python_image_runs_and_its_logs_are_read(cluster: LiveCluster) -> None:
    say = python("import ssl, sqlite3, ctypes, sys", "print(sys.version_info.major)")

    pod = cluster.run(a_pod("hello", *say))

    assert (pod["status"]["phase"], ended(pod)["reason"]) == ("Succeeded", "Completed")
    assert cluster.logs("hello").strip() == "3"


def test_an_image_without_a_tag_is_taken_from_the_node(cluster: LiveCluster) -> None:
    pod = cluster.run(a_pod("untagged", "true", image="local/python"))

    assert pod["spec"]["containers"][0]["imagePullPolicy"] == "IfNotPresent"
    assert pod["status"]["phase"] == "Succeeded"


def test_a_container_over_its_memory_limit_is_oom_killed(cluster: LiveCluster) -> None:
    limits = {"limits": {"memory": "48Mi"}}
    pod = cluster.run(a_pod("greedy", *python("x = bytearray(200 << 20)"), resources=limits))

    assert (pod["status"]["phase"], ended(pod)["reason"], ended(pod)["exitCode"]) == (
        "Failed",
        "OOMKilled",
        137,
    )


def test_an_exit_code_is_kept(cluster: LiveCluster) -> None:
    pod = cluster.run(a_pod("seven", "sh", "-c", "exit 7"))

    assert (ended(pod)["reason"], ended(pod)["exitCode"]) == ("Error", 7)


def test_gpus_are_announced_counted_and_used_up(cluster: LiveCluster) -> None:
    def wanting(name: str, gpus: int) -> dict[str, object]:
        return a_pod(name, "sleep", "600", resources={"limits": {"nvidia.com/gpu": str(gpus)}})

    cluster.create(wanting("gpus-1", 8), wanting("gpus-2", 8), wanting("gpus-3", 1))
    places = {cluster.running(name)["spec"]["nodeName"] for name in ("gpus-1", "gpus-2")}
    waiting = cluster.pod_when("gpus-3", lambda pod: bool(pod["status"].get("conditions")))
    for name in ("gpus-1", "gpus-2", "gpus-3"):
        cluster.delete(name)

    assert places == {"real-1", "real-2"}
    assert "2 Insufficient nvidia.com/gpu" in waiting["status"]["conditions"][0]["message"]


def test_only_a_pod_that_asks_for_simulation_goes_to_a_simulated_node(cluster: LiveCluster) -> None:
    (node,) = cluster.sandbox.api.get("/api/v1/nodes?labelSelector=!tonnage.dev/real-node")["items"]
    here = {"kubernetes.io/hostname": node["metadata"]["labels"]["kubernetes.io/hostname"]}
    asking = [
        {"key": "kwok.x-k8s.io/node", "operator": "Exists"},
        {"key": "nvidia.com/gpu", "operator": "Exists"},
    ]
    cluster.create(
        a_pod("means-it", "sleep", "600", image="any/image:1", nodeSelector=here, tolerations=asking),
        a_pod("does-not", "sleep", "600", nodeSelector=here, tolerations=asking[1:]),
    )

    placed = cluster.running("means-it")
    refused = cluster.pod_when("does-not", lambda pod: bool(pod["status"].get("conditions")))
    cluster.delete("means-it")
    cluster.delete("does-not")

    assert placed["spec"]["nodeName"] == node["metadata"]["name"]
    assert "had untolerated taint(s)" in refused["status"]["conditions"][0]["message"]


def test_data_of_a_claim_outlives_the_pod_and_goes_with_the_claim(cluster: LiveCluster) -> None:
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "kept"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    disk = {
        "mounts": [{"name": "disk", "mountPath": "/data"}],
        "volumes": [{"name": "disk", "persistentVolumeClaim": {"claimName": "kept"}}],
        # Not root: the folder must be open to whoever the container runs as.
        "securityContext": {"runAsUser": 1000, "runAsGroup": 1000},
    }
    cluster.create(claim)

    writer = cluster.run(a_pod("writer", "sh", "-c", "echo weights > /data/step-1", **disk))
    cluster.delete("writer")
    reader = cluster.run(a_pod("reader", "cat", "/data/step-1", **disk))

    assert cluster.logs("reader") == "weights\n"
    assert reader["spec"]["nodeName"] == writer["spec"]["nodeName"]
    cluster.delete("reader")
    cluster.sandbox.api.delete("/api/v1/namespaces/default/persistentvolumeclaims/kept")
    cluster.sandbox.api.wait("/api/v1/persistentvolumes", lambda listed: not listed["items"])
    assert [list(node.volumes.iterdir()) for node in cluster.nodes] == [[], []]
