"""The view of a snapshot: what is free, what waits and why, and honest gaps."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from tonnage.cluster.objects import Node, Pod, ResourceQuota
from tonnage.cluster.objects.loose import Loose
from tonnage.cluster.snapshot import Gap, Snapshot
from tonnage.kube.decoding import decode_object
from tonnage.reporting.snapshot import SnapshotView, view_snapshot

NOW = dt.datetime(2026, 1, 1, 12, tzinfo=dt.UTC)
H100 = {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}


def a_node(name: str, gpus: int = 8, ready: bool = True, cordoned: bool = False, **labels: str) -> Node:
    capacity = {"cpu": "192", "memory": "2Ti"} | ({"nvidia.com/gpu": str(gpus)} if gpus else {})
    body = {
        "metadata": {"name": name, "labels": (H100 if gpus else {}) | labels},
        "spec": {"unschedulable": cordoned},
        "status": {
            "allocatable": capacity,
            "conditions": [{"type": "Ready", "status": "True" if ready else "Unknown"}],
        },
    }
    return decode_object(body, Node)


def a_pod(name: str, gpus: int = 0, node: str = "", phase: str = "Running", **more: Any) -> Pod:
    meta = {"name": name, "namespace": "ml", "creationTimestamp": more.pop("since", "2026-01-01T11:00:00Z")}
    limits = {"nvidia.com/gpu": str(gpus)} if gpus else {}
    container = {"name": "main", "resources": {"requests": limits, "limits": limits}}
    spec = {"nodeName": node, "containers": [container], **more.pop("spec", {})}
    return decode_object({"metadata": meta, "spec": spec, "status": {"phase": phase, **more}}, Pod)


def unscheduled(message: str) -> dict[str, Any]:
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    return {"phase": "Pending", "conditions": [condition]}


def look(**parts: Any) -> SnapshotView:
    return view_snapshot(Snapshot(taken_at=NOW, source="test", **parts))


def test_alike_nodes_are_one_pool_with_what_is_free() -> None:
    view = look(nodes=(a_node("a"), a_node("b"), a_node("c", gpus=0)), pods=(a_pod("p", 6, "a"),))

    gpu, cpu = view.pools
    assert (gpu.gpu_type, gpu.gpus_per_node, gpu.nodes, gpu.gpus.total) == ("h100", 8, 2, 16)
    assert (gpu.gpus.used, gpu.gpus.free, cpu.gpus.total) == (6, 10, 0)
    assert (view.gpus.total, view.gpus.used, view.gpus.free) == (16, 6, 10)


def a_cut_node(name: str, resources: dict[str, str], product: str, **labels: str) -> Node:
    body = {
        "metadata": {"name": name, "labels": {"nvidia.com/gpu.product": product} | labels},
        "status": {"allocatable": resources, "conditions": [{"type": "Ready", "status": "True"}]},
    }
    return decode_object(body, Node)


@pytest.mark.parametrize(
    ("resources", "product", "whole", "parts"),
    [
        ({"nvidia.com/gpu": "56"}, "NVIDIA-A100-SXM4-80GB-MIG-1g.10gb", 0, {"1g.10gb": 56}),
        ({"nvidia.com/gpu": "32"}, "NVIDIA-A100-SXM4-80GB-SHARED", 0, {"shared": 32}),
        ({"nvidia.com/gpu.shared": "32"}, "NVIDIA-A100-SXM4-80GB", 0, {"shared": 32}),
        (
            {"nvidia.com/gpu": "4", "nvidia.com/mig-1g.10gb": "8", "nvidia.com/mig-3g.40gb": "2"},
            "NVIDIA-A100-SXM4-80GB",
            4,
            {"1g.10gb": 8, "3g.40gb": 2},
        ),
        ({"nvidia.com/gpu": "8"}, "NVIDIA-A100-SXM4-80GB", 8, {}),
    ],
)
def test_a_slice_or_a_share_is_not_counted_as_a_gpu(
    resources: dict[str, str], product: str, whole: int, parts: dict[str, int]
) -> None:
    (pool,) = look(nodes=(a_cut_node("a", resources, product),)).pools

    assert (pool.gpu_type, pool.gpus_per_node, pool.parts_per_node) == ("a100-80", whole, parts)
    assert (pool.gpus.total, pool.parts.total) == (whole, sum(parts.values()))


def test_a_pod_on_a_cut_node_uses_slices() -> None:
    cut = a_cut_node("cut", {"nvidia.com/gpu": "56"}, "NVIDIA-A100-SXM4-80GB-MIG-1g.10gb")

    view = look(nodes=(a_node("a"), cut), pods=(a_pod("p", 3, "cut"), a_pod("q", 8, "a")))

    assert (view.gpus.total, view.gpus.used, view.gpus.free) == (8, 8, 0)
    assert (view.gpu_parts.total, view.gpu_parts.used, view.gpu_parts.free) == (56, 3, 53)


def test_replicas_tell_of_sharing_where_the_product_does_not() -> None:
    shared = a_cut_node("a", {"nvidia.com/gpu": "4"}, "Tesla-T4", **{"nvidia.com/gpu.replicas": "4"})

    (pool,) = look(nodes=(shared,)).pools

    assert pool.parts_per_node == {"shared": 4}


def test_gpus_on_cordoned_or_lost_nodes_are_not_free() -> None:
    view = look(nodes=(a_node("a", cordoned=True), a_node("b", ready=False), a_node("c")))

    assert (view.gpus.total, view.gpus.free, view.pools[0].usable) == (24, 8, 1)


def test_a_full_node_and_an_overfull_one_do_not_lend_to_others() -> None:
    view = look(nodes=(a_node("a"), a_node("b")), pods=(a_pod("p", 8, "a"), a_pod("q", 4, "a")))

    assert view.gpus.free == 8


def test_finished_pods_hold_nothing() -> None:
    view = look(nodes=(a_node("a"),), pods=(a_pod("p", 8, "a", phase="Succeeded"),))

    assert view.gpus.used == 0


def test_looking_at_one_namespace_does_not_claim_to_know_what_is_free() -> None:
    view = look(nodes=(a_node("a"),), pods=(a_pod("p", 2, "a"),), namespace="ml")

    assert view.gpus.free is None


def test_pools_are_told_apart_by_the_clouds_own_labels() -> None:
    pools = look(nodes=(a_node("a", **{"karpenter.sh/nodepool": "spot"}), a_node("b"))).pools

    assert {pool.name for pool in pools} == {"spot", ""}


def test_pods_that_wait_for_the_same_thing_are_one_line() -> None:
    message = (
        "0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 Insufficient nvidia.com/gpu. "
        "preemption: 0/3 nodes are available: 3 No preemption victims found for incoming pod."
    )
    pods = tuple(a_pod(f"p{i}", 8, **unscheduled(message), since=f"2026-01-01T11:0{i}:00Z") for i in range(3))

    (group,) = look(pods=pods).waiting

    assert group.reason == "0/3 nodes: 2 insufficient nvidia.com/gpu, 1 had untolerated taint(s)"
    assert (group.pods, group.example, group.oldest_seconds) == (3, "ml/p0", 3600)


def test_each_kind_of_wait_has_its_words() -> None:
    pull = {"name": "main", "state": {"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}}}
    pods = (
        a_pod("gated", phase="Pending", spec={"schedulingGates": [{"name": "kueue.x-k8s.io/admission"}]}),
        a_pod("new", phase="Pending"),
        a_pod("pulling", node="a", phase="Pending", containerStatuses=[pull]),
        a_pod("starting", node="a", phase="Pending"),
        a_pod("fine", node="a"),
    )

    reasons = {group.example: group.reason for group in look(pods=pods).waiting}

    assert reasons == {
        "ml/gated": "held by Kueue's queue",
        "ml/new": "no scheduler has looked at it yet (default-scheduler)",
        "ml/pulling": "ImagePullBackOff: no such image",
        "ml/starting": "starting on its node",
    }


def test_only_quotas_near_their_wall_are_shown() -> None:
    quota = decode_object(
        {
            "metadata": {"name": "gpus", "namespace": "ml"},
            "status": {
                "hard": {"requests.nvidia.com/gpu": "32", "requests.memory": "4Ti", "pods": "0"},
                "used": {"requests.nvidia.com/gpu": "31", "requests.memory": "1Ti", "pods": "0"},
            },
        },
        ResourceQuota,
    )

    (wall,) = look(quotas=(quota,)).walls

    assert (wall.resource, wall.used, wall.hard, wall.share) == ("requests.nvidia.com/gpu", "31", "32", 0.969)


def test_a_queue_shows_its_gpus_in_both_api_versions() -> None:
    group = {"flavors": [{"resources": [{"name": "nvidia.com/gpu", "nominalQuota": "16"}]}]}
    used = [{"resources": [{"name": "nvidia.com/gpu", "total": "20", "borrowed": "4"}]}]
    body = {
        "metadata": {"name": "research"},
        "spec": {"cohortName": "gpus", "resourceGroups": [group]},
        "status": {"flavorsReservation": used, "pendingWorkloads": 3, "admittedWorkloads": 5},
    }

    (queue,) = look(cluster_queues=(decode_object(body, Loose),)).queues

    assert (queue.gpus_nominal, queue.gpus_used, queue.gpus_borrowed) == (16, 20, 4)
    assert (queue.pending, queue.admitted, queue.cohort) == (3, 5, "gpus")


def test_what_could_not_be_read_is_said_and_what_is_not_installed_is_not() -> None:
    gaps = (
        Gap(resource="nodes", reason="forbidden", message="you may not list nodes"),
        Gap(resource="jobsets", reason="not installed"),
    )

    assert [gap.resource for gap in look(gaps=gaps).unknown] == ["nodes"]
