"""What `plan` says about a queue is what Kueue then does: quota, borrowing, lending, cohorts in cohorts, flavors.

Each run is asked about first and submitted then. Those let in stay and fill the queues; those that wait are taken out
again, so that every question meets another state.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from controller_workloads import a_job

from tonnage.cli.target import find_cluster
from tonnage.planning.plan import make_plan
from tonnage.planning.sources import Sources
from tonnage.planning.walls import Wall
from tonnage.planning.workload.reading import workloads_in
from tonnage.sandbox import Sandbox, SandboxRequest, down, up

pytestmark = [pytest.mark.sandbox, pytest.mark.xdist_group("plan-and-kueue")]
KUEUE = "kueue.x-k8s.io/v1beta2"
GPU = "nvidia.com/gpu"
PRODUCT = "nvidia.com/gpu.product"


def a_flavor(name: str, gpus: int, **limits: int) -> dict[str, Any]:
    texts = {key: str(value) for key, value in limits.items()}
    return {
        "name": name,
        "resources": [
            {"name": "cpu", "nominalQuota": "100"},
            {"name": "memory", "nominalQuota": "1000Gi"},
            {"name": GPU, "nominalQuota": str(gpus), **texts},
        ],
    }


def a_queue(name: str, cohort: str, *flavors: dict[str, Any], reclaim: str = "Never") -> list[dict[str, Any]]:
    spec = {
        "cohortName": cohort,
        "namespaceSelector": {},
        "preemption": {"reclaimWithinCohort": reclaim, "withinClusterQueue": "Never"},
        "resourceGroups": [{"coveredResources": ["cpu", "memory", GPU], "flavors": list(flavors)}],
    }
    local = {"name": name, "namespace": "default"}
    return [
        {"apiVersion": KUEUE, "kind": "ClusterQueue", "metadata": {"name": name}, "spec": spec},
        {"apiVersion": KUEUE, "kind": "LocalQueue", "metadata": local, "spec": {"clusterQueue": name}},
    ]


def a_cohort(name: str, parent: str = "") -> dict[str, Any]:
    spec = {"parentName": parent} if parent else {}
    return {"apiVersion": KUEUE, "kind": "Cohort", "metadata": {"name": name}, "spec": spec}


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    name = f"plan-kueue-{os.getpid()}"
    made = up(SandboxRequest(name=name, nodes="8xh100=6,8xa100-80=2", controllers=("kueue",)))
    try:
        for item in (
            a_cohort("company"),
            a_cohort("shared", "company"),
            *a_queue("production", "shared", a_flavor("h100", 8), reclaim="Any"),
            *a_queue("research", "shared", a_flavor("h100", 8, borrowingLimit=8), a_flavor("a100-80", 8)),
            *a_queue("stingy", "shared", a_flavor("h100", 8, lendingLimit=4)),
            *a_queue("spare", "company", a_flavor("h100", 8)),
        ):
            made.api.create(item)
        yield made
    finally:
        down(name)


def test_a_plan_says_of_every_run_what_kueue_then_does(sandbox: Sandbox) -> None:
    asked: list[tuple[str, int, str | None]] = [
        ("production", 8, None),  # its own quota
        ("stingy", 4, None),  # its own quota
        ("spare", 40, None),  # more than all queues together have
        ("stingy", 8, None),  # 4 of its own are left, and 4 borrowed
        ("research", 8, "h100"),  # its own, though others have borrowed some
        ("research", 8, "h100"),  # borrowed, or not to be had
        ("research", 8, "a100-80"),  # its other flavor
        ("research", 24, "h100"),  # beyond its borrowing limit
        ("production", 16, None),  # beyond what is left above
        ("spare", 8, "h100"),  # lent to the cohort below, perhaps
        ("spare", 8, "a100-80"),  # a flavor it does not have
        ("production", 4, None),
        ("stingy", 1, None),
    ]
    told, done = [], []
    for number, (queue, gpus, product) in enumerate(asked):
        job = _job(f"run-{number}", queue, gpus, product)
        told.append((queue, gpus, product, _planned(sandbox, job).standing))
        done.append((queue, gpus, product, _submitted(sandbox, job, gpus)))

    assert told == done, done
    assert {standing for *_, standing in done} == {"open", "wait", "never"}


def _job(name: str, queue: str, gpus: int, product: str | None) -> dict[str, Any]:
    pods = max(1, gpus // 8)
    job = a_job(name, pods=pods, queue=queue, gpus=gpus // pods, ends=False)
    products = {"h100": "NVIDIA-H100-80GB-HBM3", "a100-80": "NVIDIA-A100-SXM4-80GB"}
    if product is not None:
        job["spec"]["template"]["spec"]["nodeSelector"] = {PRODUCT: products[product]}
    return job


def _planned(sandbox: Sandbox, job: dict[str, Any]) -> Wall:
    cluster = find_cluster(f"sandbox:{sandbox.name}", None)
    (workload,) = workloads_in(json.dumps(job), "job.json")
    plan = make_plan(workload, Sources(), snapshot=cluster.observe())
    (wall,) = [wall for wall in plan.walls if wall.kind == "queue"]
    return wall


def _submitted(sandbox: Sandbox, job: dict[str, Any], gpus: int) -> str:
    """What Kueue makes of it; a job that is let in stays, another is taken out again."""
    api, name = sandbox.api, job["metadata"]["name"]
    before = _reserved(sandbox)
    api.post(api.collection(job), job)
    reserved = _until(lambda: _condition(sandbox, name))
    if reserved["status"] == "True":
        _until(lambda: _reserved(sandbox) == before + gpus)
        return "open"
    api.delete(api.path(job), {"propagationPolicy": "Foreground"})
    _until(lambda: not api.exists(api.path(job)))
    return "wait" if "insufficient unused quota" in reserved["message"] else "never"


def _condition(sandbox: Sandbox, job: str) -> dict[str, Any] | None:
    for item in sandbox.api.list(f"/apis/{KUEUE}/namespaces/default/workloads"):
        owners = item["metadata"].get("ownerReferences") or []
        for condition in item.get("status", {}).get("conditions") or []:
            if any(owner["name"] == job for owner in owners) and condition["type"] == "QuotaReserved":
                return dict(condition)
    return None


def _reserved(sandbox: Sandbox) -> int:
    """GPUs that all queues count as taken."""
    total = 0
    for queue in sandbox.api.list(f"/apis/{KUEUE}/clusterqueues"):
        for flavor in queue.get("status", {}).get("flavorsReservation") or []:
            total += sum(int(line["total"]) for line in flavor["resources"] if line["name"] == GPU)
    return total


def _until(found: Callable[[], Any], seconds: float = 30) -> Any:
    end = time.monotonic() + seconds
    while not (value := found()):
        assert time.monotonic() < end, "Kueue did not answer in time"
        time.sleep(0.2)
    return value
