"""A Cluster document as nodes that the rules of Kubernetes can work on."""

from __future__ import annotations

from typing import Any

import pytest

from tonnage.cluster.announcing import TO_COME
from tonnage.errors import DocumentError
from tonnage.spec.cluster import Cluster
from tonnage.spec.cluster_nodes import PRICE_ANNOTATION, nodes_of
from tonnage.spec.loading import load_one
from tonnage.spec.run import Run

HEAD = "apiVersion: tonnage.dev/v1alpha1\nkind: Cluster\nmetadata: {name: lab}\nspec:\n  pools:\n"


def nodes(*pools: str, to_come: bool = False) -> list[dict[str, Any]]:
    text = HEAD + "".join(f"    - {{{pool}}}\n" for pool in pools)
    return nodes_of(load_one(text, "cluster.yaml", Cluster), to_come=to_come)


def test_a_pool_becomes_its_nodes_named_labelled_and_tainted() -> None:
    found = nodes("name: big, nodes: 2, gpus: 8 x h100, zones: [a, b], labels: {rack: r1}")

    assert [node["metadata"]["name"] for node in found] == ["big-0", "big-1"]
    assert [node["metadata"]["labels"]["topology.kubernetes.io/zone"] for node in found] == ["a", "b"]
    assert found[0]["metadata"]["labels"]["nvidia.com/gpu.product"] == "NVIDIA-H100-80GB-HBM3"
    assert found[0]["metadata"]["labels"]["rack"] == "r1"
    assert found[0]["status"]["capacity"]["nvidia.com/gpu"] == "8"
    assert [taint["key"] for taint in found[0]["spec"]["taints"]] == ["nvidia.com/gpu"]


def test_what_the_pool_says_wins_over_what_is_usual() -> None:
    [node] = nodes("name: p, gpus: 1 x l4, cpu: 10, memory: 100Gi, disk: 1Ti, pods: 20, taints: []")

    assert node["status"]["capacity"]["cpu"] == "10"
    assert node["status"]["capacity"]["memory"] == f"{100 * 2**20}Ki"
    assert node["status"]["capacity"]["pods"] == "20"
    assert "taints" not in node["spec"]


def test_shared_and_cut_gpus_are_offered_as_the_device_plugin_would() -> None:
    cut, shared = nodes(
        "name: cut, gpus: 2 x a100-80, sharing: {mode: mig, profile: 1g.10gb}",
        "name: shared, gpus: 2 x l4, sharing: {mode: timeSlicing, replicas: 4}",
    )

    assert cut["status"]["capacity"]["nvidia.com/gpu"] == "14"
    assert shared["status"]["capacity"]["nvidia.com/gpu"] == "8"


def test_the_price_of_the_whole_node_travels_with_it() -> None:
    by_gpu, by_node, free = nodes(
        "name: a, gpus: 8 x h100, price: {gpu: $3..5/hour}",
        "name: b, gpus: 1 x l4, price: $1/hour, capacityType: spot",
        "name: c, cpu: 2, memory: 4Gi",
    )

    assert by_gpu["metadata"]["annotations"] == {PRICE_ANNOTATION: "$24..40/hour"}
    assert by_node["metadata"]["annotations"] == {PRICE_ANNOTATION: "$1/hour"}
    assert by_node["metadata"]["labels"]["karpenter.sh/capacity-type"] == "spot"
    assert free["metadata"]["annotations"] == {}


def test_a_pool_that_is_empty_now_has_no_nodes() -> None:
    assert nodes("name: a, nodes: 0, gpus: 8 x h100, autoscale: 0..4") == []


def test_nodes_an_autoscaler_may_add_are_marked_as_not_there() -> None:
    pool = "name: a, nodes: 1, gpus: 8 x h100, autoscale: 0..3"
    marks = [TO_COME in node["metadata"]["annotations"] for node in nodes(pool, to_come=True)]

    assert marks == [False, True, True]


def test_a_file_without_the_wanted_kind_is_refused() -> None:
    with pytest.raises(DocumentError) as caught:
        load_one(HEAD + "    - {name: a, gpus: 1 x l4}\n", "cluster.yaml", Run)

    assert caught.value.problem.what == "no Run in this file"
    assert caught.value.problem.found == "Cluster lab"
