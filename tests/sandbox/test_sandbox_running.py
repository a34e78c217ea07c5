"""A sandbox at work: real components, nodes that look like GPU machines, pods that live as they say."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tonnage.errors import RefusedError
from tonnage.sandbox import Sandbox, SandboxRequest, find, up
from tonnage.sandbox.api import ApiError
from tonnage.sandbox.reporting import report_all, report_text

pytestmark = pytest.mark.sandbox


@pytest.fixture
def namespace(sandbox: Sandbox) -> Iterator[str]:
    """A namespace of this test's own, ready for pods."""
    name = f"t-{uuid.uuid4().hex[:8]}"
    sandbox.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    sandbox.api.wait(f"/api/v1/namespaces/{name}/serviceaccounts/default", lambda _: True)
    yield name
    sandbox.api.delete(f"/api/v1/namespaces/{name}")


def create_pod(
    sandbox: Sandbox, namespace: str, *, gpus: int = 0, annotations: dict[str, str] | None = None
) -> str:
    container: dict[str, Any] = {"name": "c", "image": "train"}
    if gpus:
        container["resources"] = {"limits": {"nvidia.com/gpu": str(gpus)}}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": namespace, "annotations": annotations or {}},
        "spec": {
            "restartPolicy": "Never",
            "containers": [container],
            "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}] if gpus else [],
        },
    }
    sandbox.api.create(pod)
    return f"/api/v1/namespaces/{namespace}/pods/p"


def phase(wanted: str) -> Callable[[dict[str, Any]], bool]:
    return lambda pod: pod["status"].get("phase") == wanted


def test_the_api_server_is_the_version_we_pin_and_users_are_authorised_by_rbac(sandbox: Sandbox) -> None:
    assert sandbox.api.get("/version")["gitVersion"].startswith("v1.36.")
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {
            "user": "system:serviceaccount:default:default",
            "resourceAttributes": {"verb": "list", "resource": "nodes"},
        },
    }
    answer = sandbox.api.post("/apis/authorization.k8s.io/v1/subjectaccessreviews", review)
    assert answer["status"]["allowed"] is False


def test_nodes_show_capacity_labels_and_taints_of_gpu_machines(sandbox: Sandbox) -> None:
    node = sandbox.api.get("/api/v1/nodes/8xh100-0")

    assert node["status"]["capacity"]["nvidia.com/gpu"] == "8"
    assert node["metadata"]["labels"]["nvidia.com/gpu.product"] == "NVIDIA-H100-80GB-HBM3"
    assert {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"} in node["spec"]["taints"]
    lease = sandbox.api.get("/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/8xh100-0")
    assert lease["spec"]["holderIdentity"]


def test_a_pod_runs_until_it_is_deleted_and_then_goes(sandbox: Sandbox, namespace: str) -> None:
    path = create_pod(sandbox, namespace, gpus=1)
    pod = sandbox.api.wait(path, phase("Running"))

    assert pod["spec"]["nodeName"].startswith("8x")
    assert pod["status"]["qosClass"] == "BestEffort"
    sandbox.api.delete(path)
    deadline = time.monotonic() + 20
    while sandbox.api.exists(path):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_pod_ends_when_and_how_its_annotations_say(sandbox: Sandbox, namespace: str) -> None:
    how = {
        "tonnage.dev/runs-for": "500ms",
        "tonnage.dev/exit-code": "137",
        "tonnage.dev/exit-reason": "OOMKilled",
    }
    path = create_pod(sandbox, namespace, annotations=how)
    ended = sandbox.api.wait(path, phase("Failed"))["status"]["containerStatuses"][0]["state"]["terminated"]

    assert (ended["exitCode"], ended["reason"]) == (137, "OOMKilled")


def test_a_pod_that_says_only_how_long_succeeds(sandbox: Sandbox, namespace: str) -> None:
    path = create_pod(sandbox, namespace, annotations={"tonnage.dev/runs-for": "200ms"})

    sandbox.api.wait(path, phase("Succeeded"))


def test_the_real_scheduler_says_why_a_pod_waits(sandbox: Sandbox, namespace: str) -> None:
    path = create_pod(sandbox, namespace, gpus=64)

    pod = sandbox.api.wait(path, lambda pod: bool(pod["status"].get("conditions")))
    (condition,) = pod["status"]["conditions"]
    assert condition["reason"] == "Unschedulable"
    assert "Insufficient nvidia.com/gpu" in condition["message"]


def test_the_same_request_again_is_answered_by_the_running_sandbox(sandbox: Sandbox) -> None:
    again = up(sandbox.request)

    assert again.id == sandbox.id


def test_another_request_under_the_same_name_is_refused(sandbox: Sandbox) -> None:
    with pytest.raises(RefusedError, match="is different") as refused:
        up(SandboxRequest(name=sandbox.name, nodes="cpu=1"))
    assert refused.value.problem.code == "BOX-012"


def test_a_running_sandbox_is_found_and_reported(sandbox: Sandbox) -> None:
    assert find(sandbox.name).server == sandbox.server
    (report,) = report_all(sandbox.name)
    assert report["state"] == "running"
    assert report["nodes"]["simulated"] >= 5
    assert all(report["parts"].values())
    assert json.dumps(report)
    assert "running at https://127.0.0.1" in report_text([report])


def test_secrets_of_the_sandbox_are_closed_to_other_users(sandbox: Sandbox) -> None:
    assert sandbox.places.root.stat().st_mode & 0o077 == 0
    assert sandbox.kubeconfig.stat().st_mode & 0o077 == 0
    for key in Path(sandbox.places.pki).glob("*.key"):
        assert key.stat().st_mode & 0o077 == 0


def test_a_refusal_of_the_api_server_carries_its_words(sandbox: Sandbox) -> None:
    with pytest.raises(ApiError, match="not found") as refused:
        sandbox.api.get("/api/v1/nodes/nobody")
    assert refused.value.status == 404
