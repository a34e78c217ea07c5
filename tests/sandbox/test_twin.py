"""A twin of a saved cluster: the same nodes with the same pods, and the same answer from the scheduler."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tonnage.kube.client import KubeClient
from tonnage.kube.kubeconfig import find_access
from tonnage.kube.port import KubeCluster
from tonnage.sandbox import Sandbox, SandboxRequest, down, up

# One worker: the fixture fills a namespace of the shared cluster.
pytestmark = [pytest.mark.sandbox, pytest.mark.xdist_group("twin")]

NAMESPACE = "twin-source"
TOLERATE_GPU = {"key": "nvidia.com/gpu", "operator": "Exists"}


@pytest.fixture(scope="module")
def twin(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    fill(sandbox)
    path = tmp_path_factory.mktemp("snapshot") / "cluster.json.gz"
    save(sandbox, path)
    name = f"twin-{os.getpid()}"
    yield up(SandboxRequest(name=name, snapshot=path))
    down(name)
    sandbox.api.delete(f"/api/v1/namespaces/{NAMESPACE}")


def save(sandbox: Sandbox, path: Path) -> None:
    from tonnage.kube.saved import whole_file

    access = find_access(os.environ, kubeconfig=sandbox.kubeconfig)
    with KubeClient(access) as client, whole_file(path) as file:
        KubeCluster(client).save(file)


def fill(sandbox: Sandbox) -> None:
    """A Job with two GPU pods, a pod no node can hold, a wall, and a class that is deleted afterwards."""
    api = sandbox.api
    api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    api.wait(f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/default", lambda _: True)
    api.create(
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": "short-lived"},
            "value": 42,
        }
    )
    api.create(
        {
            "apiVersion": "v1",
            "kind": "ResourceQuota",
            "metadata": {"name": "wall", "namespace": NAMESPACE},
            "spec": {"hard": {"requests.nvidia.com/gpu": "18"}},
        }
    )
    template = {
        "spec": {
            "restartPolicy": "Never",
            "priorityClassName": "short-lived",
            "tolerations": [TOLERATE_GPU],
            "nodeSelector": {"tonnage.dev/pool": "8xh100"},
            "containers": [{"name": "c", "image": "x", "resources": {"limits": {"nvidia.com/gpu": "1"}}}],
        }
    }
    api.create(
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": "train", "namespace": NAMESPACE},
            "spec": {"parallelism": 2, "completions": 2, "template": template},
        }
    )
    pods = f"/api/v1/namespaces/{NAMESPACE}/pods"
    api.wait(pods, lambda found: sum(p["status"]["phase"] == "Running" for p in found["items"] or ()) == 2)
    api.create(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "waits", "namespace": NAMESPACE},
            "spec": {
                "tolerations": [TOLERATE_GPU],
                "nodeSelector": {"tonnage.dev/pool": "8xh100"},
                "containers": [
                    {"name": "c", "image": "x", "resources": {"limits": {"nvidia.com/gpu": "16"}}}
                ],
            },
        }
    )
    api.wait(f"{pods}/waits", lambda pod: bool(pod["status"].get("conditions")))
    api.delete("/apis/scheduling.k8s.io/v1/priorityclasses/short-lived")


def pods_of(sandbox: Sandbox) -> list[dict[str, Any]]:
    return sandbox.api.list(f"/api/v1/namespaces/{NAMESPACE}/pods")


def test_nodes_are_the_same_machines(sandbox: Sandbox, twin: Sandbox) -> None:
    def seen(box: Sandbox) -> dict[str, Any]:
        return {
            node["metadata"]["name"]: (node["status"]["allocatable"], node["metadata"]["labels"])
            for node in box.api.list("/api/v1/nodes")
        }

    assert seen(twin) == seen(sandbox)


def test_running_pods_run_on_the_same_nodes_since_the_same_time(sandbox: Sandbox, twin: Sandbox) -> None:
    def seen(box: Sandbox) -> Counter[tuple[Any, ...]]:
        return Counter(
            (
                p["metadata"]["name"],
                p["spec"].get("nodeName"),
                p["status"]["phase"],
                p["status"].get("startTime"),
            )
            for p in pods_of(box)
        )

    assert seen(twin) == seen(sandbox)


def test_pods_still_belong_to_their_job_and_keep_a_priority_whose_class_is_gone(twin: Sandbox) -> None:
    job = twin.api.get(f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs/train")
    owners = [
        pod["metadata"]["ownerReferences"][0]["uid"] for pod in pods_of(twin) if pod["spec"].get("nodeName")
    ]

    assert owners == [job["metadata"]["uid"]] * 2
    assert {pod["spec"]["priority"] for pod in pods_of(twin) if pod["spec"].get("nodeName")} == {42}


def test_the_scheduler_gives_the_twin_the_answer_it_gave_the_original(
    sandbox: Sandbox, twin: Sandbox
) -> None:
    path = f"/api/v1/namespaces/{NAMESPACE}/pods/waits"

    def answer(box: Sandbox) -> str:
        pod = box.api.wait(path, lambda found: bool(found["status"].get("conditions")))
        return pod["status"]["conditions"][0]["message"]

    assert answer(twin) == answer(sandbox)
    assert "Insufficient nvidia.com/gpu" in answer(twin)


def test_the_walls_stand_and_count_what_is_inside(twin: Sandbox) -> None:
    path = f"/api/v1/namespaces/{NAMESPACE}/resourcequotas/wall"

    # 2 of the running pods and 16 of the waiting one, as in the original.
    twin.api.wait(path, lambda q: q.get("status", {}).get("used", {}).get("requests.nvidia.com/gpu") == "18")
