"""What every cluster behind the port must do: one suite, run on a real cluster and on a saved snapshot of it.

The live one is a real API server with simulated nodes; the saved one is written from it, with the same
objects, so that both must give the same answers.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tonnage.cluster.port import Answer, ChangeKind, ClusterPort, Permission
from tonnage.cluster.snapshot import Snapshot
from tonnage.errors import RefusedError
from tonnage.kube.client import KubeClient
from tonnage.kube.failing import Asked, NotFoundError
from tonnage.kube.kubeconfig import find_access
from tonnage.kube.port import KubeCluster
from tonnage.kube.saved import SavedCluster, whole_file
from tonnage.sandbox import Sandbox

pytestmark = pytest.mark.sandbox
SECRET = "planted-secret-value"


def manifest(kind: str, name: str, namespace: str, **body: Any) -> dict[str, Any]:
    api = {"Job": "batch/v1", "PodDisruptionBudget": "policy/v1"}.get(kind, "v1")
    meta = {"name": name} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": api, "kind": kind, "metadata": meta, **body}


def pod_spec() -> dict[str, Any]:
    container = {
        "name": "main",
        "image": "registry.example/train:1",
        "env": [{"name": "TOKEN", "value": SECRET}],
        "resources": {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"memory": "1Gi"}},
    }
    return {"containers": [container], "restartPolicy": "Never", "nodeSelector": {"nowhere": "yes"}}


@pytest.fixture(scope="module")
def namespace() -> str:
    return f"contract-{os.getpid()}"


@pytest.fixture(scope="module")
def live(sandbox: Sandbox, namespace: str) -> Iterator[KubeCluster]:
    access = find_access(os.environ, kubeconfig=sandbox.kubeconfig)
    with KubeClient(access) as client:
        cluster = KubeCluster(client)
        cluster.apply(manifest("Namespace", namespace, ""))
        quota = {"hard": {"requests.memory": "10Gi", "count/configmaps": "5"}}
        cluster.apply(manifest("ResourceQuota", "wall", namespace, spec=quota))
        cluster.apply(manifest("Pod", "waits", namespace, spec=pod_spec()))
        template = {"template": {"spec": pod_spec()}, "suspend": True}
        cluster.apply(manifest("Job", "later", namespace, spec=template))
        _until_settled(cluster, namespace)
        yield cluster


def _until_settled(cluster: KubeCluster, namespace: str) -> None:
    """Wait for the scheduler's and the quota controller's word, so that both clusters see the same."""
    import time

    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        found = cluster.fetch("pods", "waits", namespace) or {}
        quota = cluster.fetch("resourcequotas", "wall", namespace) or {}
        if found.get("status", {}).get("conditions") and quota.get("status", {}).get("used"):
            return
        time.sleep(0.2)
    raise AssertionError("the sandbox's controllers did not look at the test's objects")


@pytest.fixture(scope="module")
def saved(live: KubeCluster, tmp_path_factory: pytest.TempPathFactory) -> SavedCluster:
    path = tmp_path_factory.mktemp("saved") / "cluster.json.gz"
    with whole_file(path) as file:
        live.save(file)
    return SavedCluster.open(path, now=dt.datetime.now(dt.UTC))


@pytest.fixture(params=["live", "saved"])
def cluster(request: pytest.FixtureRequest) -> ClusterPort:
    found: ClusterPort = request.getfixturevalue(request.param)
    return found


def names(found: Any) -> set[str]:
    return {one.metadata.name for one in found}


def test_a_snapshot_holds_nodes_pods_and_policies(cluster: ClusterPort, namespace: str) -> None:
    found = cluster.observe(namespace)

    assert isinstance(found, Snapshot)
    assert found.server_version.startswith("v1.")
    assert found.nodes
    assert names(found.pods) == {"waits"}
    assert names(found.jobs) == {"later"}
    assert names(found.quotas) == {"wall"}
    assert namespace in names(found.namespaces)
    assert "system-node-critical" in names(found.priority_classes)


def test_a_quota_tells_what_is_used(cluster: ClusterPort, namespace: str) -> None:
    quota = cluster.observe(namespace).quotas[0]

    assert quota.status.used["requests.memory"] == "1Gi"


def test_gpu_nodes_keep_their_labels_and_capacity(cluster: ClusterPort) -> None:
    gpu_nodes = [node for node in cluster.observe().nodes if "nvidia.com/gpu" in node.status.allocatable]

    assert gpu_nodes
    assert all("nvidia.com/gpu.product" in node.metadata.labels for node in gpu_nodes)


def test_one_namespace_is_a_part_of_all(cluster: ClusterPort, namespace: str) -> None:
    everything, one = cluster.observe(), cluster.observe(namespace)

    assert names(one.pods) <= names(everything.pods)
    assert (everything.namespace, one.namespace) == ("", namespace)


def test_what_is_not_installed_is_a_gap_not_an_emptiness(cluster: ClusterPort) -> None:
    gap = cluster.observe().gap("clusterqueues.kueue.x-k8s.io")

    assert gap is not None
    assert gap.reason == "not installed"


def test_an_object_can_be_fetched_whole_or_is_nothing(cluster: ClusterPort, namespace: str) -> None:
    found = cluster.fetch("pods", "waits", namespace)

    assert found is not None
    assert (found["kind"], found["spec"]["containers"][0]["image"]) == ("Pod", "registry.example/train:1")
    assert cluster.fetch("pods", "nobody", namespace) is None


async def test_following_begins_with_what_exists(cluster: ClusterPort, namespace: str) -> None:
    seen: set[str] = set()
    async with asyncio.timeout(30):
        async for change in cluster.follow(["pods", "jobs.batch"], namespace):
            if change.kind is ChangeKind.SYNCED:
                seen.add(change.resource)
            else:
                assert change.kind is ChangeKind.ADDED
                seen.add(change.object.metadata.name)
            if {"pods", "jobs.batch"} <= seen:
                break

    assert {"waits", "later"} <= seen


def test_a_dry_run_never_changes_anything(cluster: ClusterPort, namespace: str) -> None:
    wanted = manifest("ConfigMap", "ghost", namespace, data={"a": "b"})

    if isinstance(cluster, KubeCluster):
        assert cluster.apply(wanted, dry_run=True)["data"] == {"a": "b"}
        path = f"/api/v1/namespaces/{namespace}/configmaps/ghost"
        with pytest.raises(NotFoundError):
            cluster.client.get_json(path, Asked("get", "configmaps", namespace=namespace, name="ghost"))
    else:
        with pytest.raises(RefusedError, match="SNAP-006"):
            cluster.apply(wanted, dry_run=True)


def test_permissions_are_answered_in_order(cluster: ClusterPort, namespace: str) -> None:
    asked = [
        Permission("list", "pods", "", namespace),
        Permission("create", "pods", "", namespace, "eviction"),
    ]

    answers = cluster.may(asked)

    assert len(answers) == 2
    assert all(isinstance(answer, Answer) and answer.allowed in (True, None) for answer in answers)


def test_the_saved_and_the_live_cluster_say_the_same(
    live: KubeCluster, saved: SavedCluster, namespace: str
) -> None:
    ours, theirs = live.observe(namespace), saved.observe(namespace)

    assert ours.pods == theirs.pods
    assert ours.jobs == theirs.jobs
    assert names(ours.nodes) == names(theirs.nodes)
    assert {gap.resource for gap in ours.gaps} == {gap.resource for gap in theirs.gaps}


def test_no_environment_value_is_in_the_saved_file(
    saved: SavedCluster, live: KubeCluster, namespace: str
) -> None:
    path = Path(saved.target.name)
    import gzip

    text = gzip.decompress(path.read_bytes())
    assert (live.fetch("pods", "waits", namespace) or {})["spec"]["containers"][0]["env"][0][
        "value"
    ] == SECRET
    assert SECRET.encode() not in text
    assert b"managedFields" not in text
    assert b"waits" in text


class TestApplying:
    """Only a live cluster can be changed."""

    def test_a_field_of_another_manager_is_a_conflict_naming_both(
        self, live: KubeCluster, namespace: str
    ) -> None:
        first = manifest("ConfigMap", "shared", namespace, data={"a": "1"})
        live.client.post_json(
            f"/api/v1/namespaces/{namespace}/configmaps?fieldManager=somebody",
            first,
            Asked("create", "configmaps"),
        )

        with pytest.raises(RefusedError) as conflict:
            live.apply(manifest("ConfigMap", "shared", namespace, data={"a": "2"}))

        assert conflict.value.problem.code == "KUBE-060"
        assert ".data.a belongs to somebody" in str(conflict.value)
        assert (
            live.apply(manifest("ConfigMap", "shared", namespace, data={"a": "2"}), force=True)["data"]["a"]
            == "2"
        )

    def test_applying_twice_is_the_same_as_once(self, live: KubeCluster, namespace: str) -> None:
        wanted = manifest("ConfigMap", "twice", namespace, data={"a": "1"})

        first, second = live.apply(wanted), live.apply(wanted)

        assert first["metadata"]["resourceVersion"] == second["metadata"]["resourceVersion"]

    def test_what_the_api_server_rejects_is_told_in_its_words(
        self, live: KubeCluster, namespace: str
    ) -> None:
        with pytest.raises(RefusedError, match=r"spec\.containers: Required value"):
            live.apply(manifest("Pod", "empty", namespace, spec={"containers": []}), dry_run=True)

    def test_a_quota_refusal_comes_through_whole(self, live: KubeCluster, namespace: str) -> None:
        large = pod_spec()
        large["containers"][0]["resources"] = {"requests": {"memory": "99Gi", "cpu": "1"}}

        with pytest.raises(RefusedError, match="exceeded quota: wall"):
            live.apply(manifest("Pod", "large", namespace, spec=large), dry_run=True)
