"""While a run waits, it says who holds it: the scheduler, a quota, a queue with its place in line."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.kube.running.waiting_runs import make, planned, wait

from tonnage.cli.run_cluster import place_for
from tonnage.cli.run_planning import Planned
from tonnage.kube.client import KubeClient
from tonnage.kube.kubeconfig import find_access
from tonnage.kube.running.api import Ref, RunApi
from tonnage.kube.running.place import KubePlace
from tonnage.running.attempts import Size
from tonnage.sandbox import Sandbox, SandboxRequest, down, up

pytestmark = pytest.mark.sandbox
Places = Callable[..., KubePlace]


@pytest.fixture(scope="module")
def queues() -> Iterator[Sandbox]:
    """Nine nodes with 8 GPUs each, JobSet and Kueue."""
    name = f"kw-{os.environ.get('PYTEST_XDIST_WORKER', 'main')}"
    down(name)
    try:
        yield up(SandboxRequest(name=name, nodes="8xh100=9,cpu=1", controllers=("kueue", "jobset")))
    finally:
        down(name)


@pytest.fixture
def api(queues: Sandbox) -> Iterator[RunApi]:
    """A namespace of its own."""
    with KubeClient(find_access(os.environ, kubeconfig=queues.kubeconfig)) as client:
        made = RunApi(client, f"kw-{uuid.uuid4().hex[:8]}")
        make(made, "Namespace", made.namespace)
        yield made
        made.delete(Ref("v1", "Namespace", made.namespace))


@pytest.fixture
def places() -> Iterator[Places]:
    """Launches, and lets go of the connections at the end."""
    made: list[KubePlace] = []

    def launch(plan: Planned, size: Size | None = None) -> KubePlace:
        place, launching = place_for(plan)
        made.append(place)
        place.launch(1, size or launching.first_size, resume=False)
        return place

    yield launch
    for place in made:
        place.close()


@pytest.mark.parametrize(("nodes", "gpus", "kind"), [(1, 1, "Job"), (1, 8, "Job"), (8, 8, "JobSet")])
def test_one_document_runs_on_1_8_and_64_gpus(
    queues: Sandbox, api: RunApi, places: Places, tmp_path: Path, nodes: int, gpus: int, kind: str
) -> None:
    plan = planned(tmp_path, f"sandbox:{queues.name}", api.namespace, name="scales", nodes=nodes, gpus=gpus)
    place = places(plan)
    seen = wait(place, lambda seen: seen.ranks_ready == nodes, 90.0)
    assert len(seen.nodes) == nodes
    pods = api.pods({"tonnage.dev/run": "scales"})
    limits = [pod["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] for pod in pods]
    assert sum(map(int, limits)) == nodes * gpus
    assert kind in {owner["kind"] for each in api.objects("batch/v1", "Job")
                    for owner in each["metadata"].get("ownerReferences", [{"kind": "Job"}])}  # fmt: skip
    place.stop(1, 0)
    assert wait(place, lambda seen: seen.state in ("ended", "suspended")).state == "ended"


def test_what_no_node_can_take_is_held_by_the_scheduler(
    queues: Sandbox, api: RunApi, places: Places, tmp_path: Path
) -> None:
    plan = planned(tmp_path, f"sandbox:{queues.name}", api.namespace)
    place = places(plan, Size(memory=64 * 2**40, memory_request=64 * 2**40))
    seen = wait(place, lambda seen: "scheduler" in seen.held_by)
    assert seen.state == "waiting"
    assert "Insufficient memory" in seen.held_by
    assert seen.held_by.startswith("scheduler: 0 of 10 nodes: ")
    assert seen.since is not None


def test_a_quota_that_is_full_is_named_with_its_figures(
    queues: Sandbox, api: RunApi, places: Places, tmp_path: Path
) -> None:
    plan = planned(tmp_path, f"sandbox:{queues.name}", api.namespace)
    make(api, "ResourceQuota", "team-walls", spec={"hard": {"requests.nvidia.com/gpu": "0"}})
    place = places(plan)
    seen = wait(place, lambda seen: bool(seen.held_by))
    assert seen.state == "waiting"
    assert seen.held_by == "quota team-walls: requests.nvidia.com/gpu 0 of 0 used, 1 more asked"


def test_a_queue_says_the_place_in_line(queues: Sandbox, api: RunApi, places: Places, tmp_path: Path) -> None:
    queue = f"q-{api.namespace}"
    group = {
        "coveredResources": ["cpu", "memory", "nvidia.com/gpu", "ephemeral-storage"],
        "flavors": [{"name": "any", "resources": [
            {"name": "cpu", "nominalQuota": "1000"}, {"name": "memory", "nominalQuota": "9Ti"},
            {"name": "nvidia.com/gpu", "nominalQuota": "8"}, {"name": "ephemeral-storage", "nominalQuota": "99Ti"}]}],
    }  # fmt: skip
    kueue = "kueue.x-k8s.io/v1beta2"
    make(api, "ResourceFlavor", "any", kueue)
    make(api, "ClusterQueue", queue, kueue, spec={"namespaceSelector": {}, "resourceGroups": [group]})
    make(api, "LocalQueue", "research", kueue, spec={"clusterQueue": queue})
    on = f"sandbox:{queues.name}"
    waiting = []
    for name in ("first", "second", "third"):
        plan = planned(tmp_path, on, api.namespace, name=name, gpus=8, extra="  queue: research\n")
        waiting.append(places(plan))
        if name == "first":
            wait(waiting[0], lambda seen: seen.ranks_ready == 1, 60.0)
    # Made in the same second they may stand in either order.
    lines = [wait(place, lambda seen: "in line" in seen.held_by, 60.0) for place in waiting[1:]]
    assert {line.state for line in lines} == {"waiting"}
    assert {line.held_by.partition(": ")[0] for line in lines} == {
        "queue research, 1st in line",
        "queue research, 2nd in line",
    }
    for place in waiting:  # let go, also of what Kueue would start again
        place.stop(1, 0)
        assert wait(place, lambda seen: seen.state == "ended").state == "ended"
