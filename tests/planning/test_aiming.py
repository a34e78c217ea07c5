"""Pods are aimed by labels that nodes carry, and given something where nobody knows what they need."""

from __future__ import annotations

import msgspec
import pytest
from plan_builders import GIB, a_run, a_snapshot, a_workload, nodes, sources

from tonnage.cluster.gpus import find_gpu
from tonnage.cluster.objects import Node
from tonnage.planning.aiming import gpu_terms
from tonnage.planning.assuming import assumed_for
from tonnage.planning.plan import look_at
from tonnage.planning.workload.of_run import workload_of_run

H100 = find_gpu("h100")


def labelled(labels: dict[str, str], shapes: str = "8xh100=2") -> list[Node]:
    """Nodes with these in place of their GPU labels."""
    made = []
    for node in nodes(shapes):
        kept = {
            key: value for key, value in node.metadata.labels.items() if not key.startswith("nvidia.com/")
        }
        meta = msgspec.structs.replace(node.metadata, labels=kept | labels)
        made.append(msgspec.structs.replace(node, metadata=meta))
    return made


def placed(labels: dict[str, str]) -> int:
    run = a_run(gpus="8 x h100", image="a:1", command="python train.py")
    situation = look_at(workload_of_run(run), sources(), snapshot=a_snapshot(labelled(labels)))
    assert situation.plan.placement is not None
    return len(situation.plan.placement.empty.feasible)


@pytest.mark.parametrize(
    "labels",
    [
        {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"},
        {"cloud.google.com/gke-accelerator": "nvidia-h100-80gb"},
        {"karpenter.k8s.aws/instance-gpu-name": "h100"},
        {"nvidia.com/gpu": "true"},
        {},
    ],
)
def test_a_named_type_is_found_by_whatever_label_says_it(labels):
    assert placed(labels) == 2


def test_nodes_that_say_another_type_are_not_taken():
    assert placed({"cloud.google.com/gke-accelerator": "nvidia-l4"}) == 0


def test_nodes_of_two_clouds_are_alternatives():
    product = labelled({"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"})
    cloud = labelled({"cloud.google.com/gke-accelerator": "nvidia-h100-mega-80gb"})
    assert H100 is not None
    assert [[line["key"] for line in term] for term in gpu_terms([H100], product + cloud)] == [
        ["nvidia.com/gpu.product"],
        ["cloud.google.com/gke-accelerator"],
    ]


def test_shared_gpus_are_no_whole_ones():
    assert H100 is not None
    found = gpu_terms([H100], [*nodes("8xh100=1"), *nodes("s=1+gpus=8xh100+shared=4")])
    assert found == [
        [{"key": "nvidia.com/gpu.product", "operator": "In", "values": ["NVIDIA-H100-80GB-HBM3"]}]
    ]


def test_a_run_without_a_model_asks_for_its_share_of_a_node():
    run = a_run(gpus="4 x h100", image="a:1", command="python train.py")
    situation = look_at(workload_of_run(run), sources(), snapshot=a_snapshot())
    asked = situation.roles[0].pod.spec.containers[0].resources.requests

    assert 800 * GIB < int(asked["memory"]) < 1000 * GIB
    assert situation.plan.risk.qos == "Guaranteed"


def test_what_is_assumed_never_exceeds_half_of_a_small_node():
    small = look_at(
        workload_of_run(a_run(image="a:1", command="./a")),
        sources(),
        snapshot=a_snapshot("tiny=1+cpu=1+memory=2Gi"),
    )
    assert small.plan.placement is not None
    assert small.plan.placement.empty.fits


def test_without_a_cluster_something_usual_is_assumed():
    found = assumed_for(a_workload(gpus=2).trainer, None)
    assert (found.cpu, found.memory) == (8000, 40 * GIB)
