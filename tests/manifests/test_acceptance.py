"""Every golden file, applied to a real API server with the real definitions, webhooks and controllers.

Server-side, as `tonnage run` applies it; then the controllers make the pods, and what the API server says about those
is compared with what we promised. At last, what Kubernetes does on its own when pods are lost or fail.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import yaml
from manifest_cases import ALL, BY_NAME, Case
from manifest_reading import pods as planned_pods

from tonnage.cluster.qos import BEST_EFFORT, GUARANTEED, compute_qos_class
from tonnage.manifests import Rendered
from tonnage.sandbox import Sandbox, SandboxRequest, down, up
from tonnage.sandbox.api import ApiError
from tonnage.sandbox.controllers.queues import cluster_queue, flavor, local_queue

pytestmark = [pytest.mark.sandbox, pytest.mark.xdist_group("manifests")]

GOLDEN = Path(__file__).parent / "golden"
NODES = "8xh100=8,8xa100-80=1,4xl4=1+shared=4,cpu=4"
PATIENCE = 60.0
QUOTA = {"cpu": "1000", "memory": "10Ti", "ephemeral-storage": "100Ti", "nvidia.com/gpu": "64"}
NOT_INSTALLED = ("mpijob-by-ssh",)
"""The MPI Operator's kind has the same name as the Training Operator's: `test_acceptance_by_ssh` has one for that."""
INSTALLED = [name for name in BY_NAME if name not in NOT_INSTALLED]
SHORT = {"tonnage.dev/runs-for": "300ms"}


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    name = f"man-{os.getpid()}"
    made = up(SandboxRequest(name=name, nodes=NODES, controllers=("kueue", "trainer", "training-operator")))
    try:
        made.api.apply(_surroundings())
        yield made
    finally:
        down(name)


@pytest.fixture(scope="module")
def refused(sandbox: Sandbox) -> dict[str, str]:
    """All golden files applied; what the API server said against any of them."""
    said: dict[str, str] = {}

    def send(name: str) -> None:
        for item in yaml.safe_load_all((GOLDEN / f"{name}.yaml").read_text()):
            try:
                sandbox.api.apply_one(item)
            except ApiError as error:
                said[name] = f"{item['kind']}: {error.message}"

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(send, INSTALLED))
    return said


@pytest.mark.parametrize("name", INSTALLED)
def test_a_golden_file_is_accepted(refused: dict[str, str], name: str) -> None:
    assert refused.get(name) is None


@pytest.mark.parametrize("name", INSTALLED)
def test_its_pods_are_made_and_have_the_class_we_promised(
    sandbox: Sandbox, refused: dict[str, str], name: str
) -> None:
    case = BY_NAME[name]
    rendered = case.rendered()
    wanted = case.request().planned.nodes + (rendered.target == "MPIJob")
    found = _wait_for_pods(sandbox, case, rendered, wanted)
    classes = {pod["status"]["qosClass"] for pod in found}

    assert classes == {compute_qos_class(pod) for pod in planned_pods(rendered)}
    assert BEST_EFFORT not in classes
    if case.spec.get("priority") in ("critical", "high"):
        assert classes == {GUARANTEED}


def test_what_was_accepted_is_what_was_sent(sandbox: Sandbox, refused: dict[str, str]) -> None:
    """Nothing is pruned for being unknown: the template of each Job has every variable we wrote."""
    for name in ("one-node-high", "gang-without-jobset"):
        sent = BY_NAME[name].rendered().workload
        stored = sandbox.api.get(sandbox.api.path(sent))
        assert _is_within(sent["spec"]["template"], stored["spec"]["template"])


# -- what Kubernetes does on its own


def test_a_single_pod_comes_back_after_a_disruption(sandbox: Sandbox) -> None:
    case = a_run("lone")
    (before,) = start(sandbox, case, 1)
    evict(sandbox, before)
    (after,) = eventually(
        sandbox, case, 1, lambda pods: all(p["metadata"]["uid"] != uid(before) for p in pods)
    )

    assert after["status"]["phase"] == "Running"
    assert not conditions(sandbox, case) & {"Failed", "FailureTarget"}


def test_a_gang_in_a_jobset_starts_again_whole(sandbox: Sandbox) -> None:
    case = a_run("gang", nodes=2, served=ALL)
    before = start(sandbox, case, 2)
    evict(sandbox, before[1])
    old = {uid(pod) for pod in before}
    eventually(sandbox, case, 2, lambda pods: not old & {uid(pod) for pod in pods})

    assert sandbox.api.get(sandbox.api.path(case.rendered().workload))["status"]["restarts"] == 1


def test_a_gang_in_an_indexed_job_is_ended_for_the_supervisor_to_start_again(sandbox: Sandbox) -> None:
    case = a_run("bare", nodes=2)
    before = start(sandbox, case, 2)
    evict(sandbox, before[0])
    job = sandbox.api.wait(sandbox.api.path(case.rendered().workload), has("Failed"), seconds=PATIENCE)

    assert "DisruptionTarget" in message(job, "Failed")


@pytest.mark.parametrize("code", [81, 1, 137])
def test_every_exit_ends_the_job_at_once(sandbox: Sandbox, code: int) -> None:
    case = a_run(f"exit-{code}", annotations={**SHORT, "tonnage.dev/exit-code": str(code)})
    sandbox.api.apply(case.rendered().objects)
    job = sandbox.api.wait(sandbox.api.path(case.rendered().workload), has("Failed"), seconds=PATIENCE)

    assert f"exit code {code}" in message(job, "Failed")
    assert job["status"]["failed"] == 1


def a_run(
    name: str, *, nodes: int = 1, served: Any = None, annotations: dict[str, str] | None = None
) -> Case:
    spec = {
        "image": "train:1",
        "command": "python train.py",
        "nodes": nodes,
        "cpu": 1,
        "memory": "1Gi",
        "disk": "1Gi",
        "podTemplate": {"metadata": {"annotations": annotations or {}}},
    }
    return Case(name=name, spec=spec, nodes="cpu=4", figures={}, served=served or {})


def start(sandbox: Sandbox, case: Case, count: int) -> list[dict[str, Any]]:
    sandbox.api.apply(case.rendered().objects)
    return eventually(sandbox, case, count, lambda _pods: True)


def eventually(
    sandbox: Sandbox, case: Case, count: int, holds: Callable[[list[dict[str, Any]]], bool]
) -> list[dict[str, Any]]:
    """Wait until so many pods run and something holds of them."""
    deadline = time.monotonic() + PATIENCE
    while True:
        found = [p for p in _pods(sandbox, case, case.rendered()) if p["status"].get("phase") == "Running"]
        alive = [pod for pod in found if "deletionTimestamp" not in pod["metadata"]]
        if len(alive) == count and holds(alive):
            return alive
        assert time.monotonic() < deadline, [pod["status"].get("phase") for pod in found]
        time.sleep(0.2)


def evict(sandbox: Sandbox, pod: dict[str, Any]) -> None:
    meta = {"name": pod["metadata"]["name"], "namespace": pod["metadata"]["namespace"]}
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": meta}
    sandbox.api.post(f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}/eviction", eviction)


def uid(pod: dict[str, Any]) -> str:
    return pod["metadata"]["uid"]


def has(condition: str) -> Callable[[dict[str, Any]], bool]:
    return lambda item: condition in _true(item)


def conditions(sandbox: Sandbox, case: Case) -> set[str]:
    return _true(sandbox.api.get(sandbox.api.path(case.rendered().workload)))


def message(item: dict[str, Any], condition: str) -> str:
    return next(each["message"] for each in item["status"]["conditions"] if each["type"] == condition)


def _true(item: dict[str, Any]) -> set[str]:
    found = item.get("status", {}).get("conditions") or []
    return {each["type"] for each in found if each["status"] == "True"}


def _pods(sandbox: Sandbox, case: Case, rendered: Rendered) -> list[dict[str, Any]]:
    wanted = "%2C".join(f"{key}%3D{value}" for key, value in rendered.selector.items())
    return sandbox.api.list(f"/api/v1/namespaces/{case.namespace}/pods?labelSelector={wanted}")


def _wait_for_pods(sandbox: Sandbox, case: Case, rendered: Rendered, wanted: int) -> list[dict[str, Any]]:
    deadline = time.monotonic() + PATIENCE
    while len(found := _pods(sandbox, case, rendered)) < wanted:
        assert time.monotonic() < deadline, f"{len(found)} of {wanted} pods"
        time.sleep(0.2)
    return found


def _surroundings() -> list[dict[str, Any]]:
    """A namespace that is careful, and a queue whose nodes know their place."""
    careful = {"name": "careful", "labels": {"pod-security.kubernetes.io/enforce": "restricted"}}
    racks = flavor("racks", {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"})
    racks["spec"]["topologyName"] = "racks"
    levels = [{"nodeLabel": "topology.kubernetes.io/zone"}, {"nodeLabel": "kubernetes.io/hostname"}]
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": careful},
        {
            "apiVersion": racks["apiVersion"],
            "kind": "Topology",
            "metadata": {"name": "racks"},
            "spec": {"levels": levels},
        },
        racks,
        cluster_queue("racks", {"racks": QUOTA}),
        local_queue("racks", "racks", "default"),
    ]


def _is_within(part: Any, whole: Any) -> bool:
    """Whether everything that is said in one is said in the other."""
    if isinstance(part, dict):
        return all(name in whole and _is_within(value, whole[name]) for name, value in part.items())
    if isinstance(part, list):
        return len(part) == len(whole) and all(map(_is_within, part, whole))
    return part == whole
