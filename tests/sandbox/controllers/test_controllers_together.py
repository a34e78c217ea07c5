"""All four controllers in one real sandbox: what each does, and that nothing is left of them."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from controller_workloads import a_job, a_jobset, a_pytorchjob, a_training_runtime, a_trainjob

from tonnage.sandbox import Sandbox, SandboxRequest, down, up
from tonnage.sandbox.api import ApiError
from tonnage.sandbox.processes import find_processes

pytestmark = [pytest.mark.sandbox, pytest.mark.xdist_group("controllers")]


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    name = f"ctl-{os.getpid()}"
    request = SandboxRequest(
        name=name, nodes="8xh100=2,cpu=2", controllers=("kueue", "trainer", "training-operator")
    )
    made = up(request)
    try:
        yield made
    finally:
        down(name)
        assert find_processes(made.id) == []
        assert not made.places.root.exists()


@pytest.fixture
def submit(sandbox: Sandbox) -> Iterator[Callable[[dict[str, Any]], str]]:
    """Create objects and return where they live; they are removed when the test ends."""
    made: list[str] = []

    def create(item: dict[str, Any]) -> str:
        sandbox.api.post(sandbox.api.collection(item), item)
        made.append(sandbox.api.path(item))
        return made[-1]

    yield create
    for path in reversed(made):
        sandbox.api.delete(path, {"propagationPolicy": "Background"})


def eventually(sandbox: Sandbox, path: str, holds: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    return sandbox.api.wait(path, holds, seconds=120)


def has(condition: str) -> Callable[[dict[str, Any]], bool]:
    def holds(item: dict[str, Any]) -> bool:
        found = item.get("status", {}).get("conditions") or []
        return any(each["type"] == condition and each["status"] == "True" for each in found)

    return holds


def pods_of(sandbox: Sandbox, label: str, value: str) -> list[dict[str, Any]]:
    return sandbox.api.list(f"/api/v1/namespaces/default/pods?labelSelector={label}%3D{value}")


def refusal(sandbox: Sandbox, item: dict[str, Any]) -> str:
    with pytest.raises(ApiError) as caught:
        sandbox.api.post(sandbox.api.collection(item) + "?dryRun=All", item)
    return caught.value.message


def test_jobset_comes_with_trainer(sandbox):
    assert "jobset.x-k8s.io" in {group["name"] for group in sandbox.api.get("/apis")["groups"]}


def test_kueue_places_an_admitted_job_on_the_nodes_of_its_flavor(sandbox, submit):
    job = submit(a_job("placed", queue="h100", gpus=8))
    eventually(sandbox, job, has("Complete"))

    (pod,) = pods_of(sandbox, "batch.kubernetes.io/job-name", "placed")
    assert pod["spec"]["nodeName"].startswith("8xh100-")
    assert pod["spec"]["nodeSelector"] == {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}
    assert "nvidia.com/gpu" in [each.get("key") for each in pod["spec"]["tolerations"]]


def test_kueue_holds_a_job_beyond_the_quota_says_why_and_shows_its_place_in_the_queue(sandbox, submit):
    first = submit(a_job("fills", queue="h100", pods=2, gpus=8, ends=False))
    eventually(sandbox, first, lambda job: job["status"].get("active") == 2)
    second = submit(a_job("waits", queue="h100", gpus=8))

    def reason(workloads: dict[str, Any]) -> str:
        owned = [w for w in workloads["items"] if w["metadata"]["ownerReferences"][0]["name"] == "waits"]
        conditions = [c for w in owned for c in w.get("status", {}).get("conditions") or []]
        return next((c["message"] for c in conditions if c["type"] == "QuotaReserved"), "")

    workloads = "/apis/kueue.x-k8s.io/v1beta2/namespaces/default/workloads"
    expected = "insufficient unused quota for nvidia.com/gpu in flavor h100, 8 more needed"
    eventually(sandbox, workloads, lambda listed: expected in reason(listed))
    pending = sandbox.api.get("/apis/visibility.kueue.x-k8s.io/v1beta2/clusterqueues/h100/pendingworkloads")[
        "items"
    ]

    assert sandbox.api.get(second)["spec"]["suspend"] is True
    assert [(each["localQueueName"], each["positionInClusterQueue"]) for each in pending] == [("h100", 0)]


def test_a_jobset_becomes_jobs_and_pods_and_completes(sandbox, submit):
    jobset = submit(a_jobset("pair"))
    eventually(sandbox, jobset, has("Completed"))

    pods = pods_of(sandbox, "jobset.sigs.k8s.io/jobset-name", "pair")
    assert len(pods) == 2
    assert {pod["status"]["phase"] for pod in pods} == {"Succeeded"}


def test_kueue_also_queues_jobsets(sandbox, submit):
    jobset = submit(a_jobset("queued-pair", queue="cpu"))
    eventually(sandbox, jobset, has("Completed"))


def test_a_trainjob_becomes_a_jobset_of_two_nodes_and_completes(sandbox, submit):
    submit(a_training_runtime("short"))
    trainjob = submit(a_trainjob("finetune", "short"))
    eventually(sandbox, trainjob, has("Complete"))

    assert sandbox.api.exists("/apis/jobset.x-k8s.io/v1alpha2/namespaces/default/jobsets/finetune")
    assert len(pods_of(sandbox, "jobset.sigs.k8s.io/jobset-name", "finetune")) == 2


def test_trainers_own_runtimes_are_there(sandbox):
    listed = sandbox.api.list("/apis/trainer.kubeflow.org/v1alpha1/clustertrainingruntimes")
    assert "torch-distributed" in [each["metadata"]["name"] for each in listed]


def test_a_pytorchjob_runs_its_master_and_worker_to_the_end(sandbox, submit):
    job = submit(a_pytorchjob("ddp"))
    done = eventually(sandbox, job, has("Succeeded"))

    assert done["status"]["replicaStatuses"]["Master"]["succeeded"] == 1


@pytest.mark.parametrize(
    ("item", "webhook"),
    [
        (a_jobset("bad", waits_for="nobody"), "vjobset.kb.io"),
        # An environment variable that Trainer itself sets for torch.
        (
            a_trainjob("bad", "torch-distributed", kind="ClusterTrainingRuntime", env="PET_NNODES"),
            "validator.trainjob.trainer.kubeflow.org",
        ),
        (a_pytorchjob("bad", container="other"), "validator.pytorchjob.training-operator.kubeflow.org"),
    ],
    ids=["jobset", "trainjob", "pytorchjob"],
)
def test_a_wrong_object_is_refused_by_its_controllers_webhook(sandbox, item, webhook):
    assert f'admission webhook "{webhook}" denied the request' in refusal(sandbox, item)


def test_kueue_refuses_a_job_whose_settings_mean_nothing(sandbox):
    job = a_job("bad", queue="cpu")
    job["metadata"]["annotations"] = {"kueue.x-k8s.io/job-min-parallelism": "none"}
    assert 'admission webhook "vjob.kb.io" denied the request' in refusal(sandbox, job)


def test_kueue_comes_back_when_it_is_killed(sandbox, submit):
    (before,) = programs(sandbox, "kueue")
    os.kill(before, signal.SIGKILL)

    while_away = refusal(sandbox, a_job("during", queue="cpu"))
    wait_until_accepted(sandbox, a_job("probe", queue="cpu"))
    job = submit(a_job("after", queue="cpu"))
    eventually(sandbox, job, has("Complete"))
    (after,) = programs(sandbox, "kueue")

    assert "failed calling webhook" in while_away
    assert after != before


def wait_until_accepted(sandbox: Sandbox, item: dict[str, Any]) -> None:
    deadline = time.monotonic() + 120
    while True:
        try:
            sandbox.api.post(sandbox.api.collection(item) + "?dryRun=All", item)
            return
        except ApiError:
            if time.monotonic() > deadline:
                raise
        time.sleep(0.2)


def programs(sandbox: Sandbox, name: str) -> list[int]:
    return [
        pid for pid in find_processes(sandbox.id) if Path(f"/proc/{pid}/comm").read_text().strip() == name
    ]
