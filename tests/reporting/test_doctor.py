"""The doctor: each thing that stops people is a problem with a remedy, and nothing else is."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from typing import Any

import pytest

from tonnage.cluster.objects import Node, StorageClass
from tonnage.cluster.port import Answer
from tonnage.cluster.snapshot import Gap, Snapshot
from tonnage.kube.decoding import decode_object
from tonnage.reporting.doctor import Check, Facts, State, examine
from tonnage.reporting.doctor.permissions import grouped, needs

GOOD_NODE = decode_object(
    {
        "metadata": {"name": "gpu-0", "labels": {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}},
        "status": {
            "allocatable": {"nvidia.com/gpu": "8"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    },
    Node,
)
DEFAULT = {
    "metadata": {"name": "ssd", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}
}
DISK = decode_object({**DEFAULT, "provisioner": "ebs.csi.aws.com"}, StorageClass)
GROUPS = {"batch": ("v1",), "jobset.x-k8s.io": ("v1alpha2",)}


def facts(allowed: bool = True, groups: Any = None, gates: Any = None, **parts: Any) -> Facts:
    parts = {"nodes": (GOOD_NODE,), "storage_classes": (DISK,), "server_version": "v1.36.4"} | parts
    snapshot = Snapshot(taken_at=dt.datetime(2026, 1, 1, tzinfo=dt.UTC), source="context prod", **parts)
    groups = GROUPS if groups is None else groups
    asked = [p for need in needs("", frozenset(groups)) for p in need.permissions]
    answers = [(permission, Answer(allowed)) for permission in dict.fromkeys(asked)]
    return Facts(
        snapshot=snapshot, groups=groups, gates=gates or {"PodLevelResources": True}, answers=answers
    )


def find(found: Facts, subject: str) -> Check:
    return next(check for check in examine(found).checks if check.subject == subject)


def test_a_cluster_that_can_train_is_fine() -> None:
    view = examine(facts())

    assert view.problems == 0, [check for check in view.checks if check.state is State.PROBLEM]


@pytest.mark.parametrize(
    ("change", "subject"),
    [
        ({"nodes": ()}, "nodes"),
        ({"nodes": ()}, "GPUs"),
        ({"storage_classes": ()}, "default class"),
        ({"server_version": "v1.24.3-eks-abc"}, "Kubernetes"),
        ({"gaps": (Gap(resource="nodes", reason="forbidden"),)}, "nodes"),
        ({"groups": GROUPS | {"kueue.x-k8s.io": ("v1beta2",)}}, "Kueue queues"),
        ({"allowed": False}, "see runs"),
        ({"allowed": False}, "start and stop runs"),
    ],
)
def test_what_stops_people_is_a_problem_with_a_remedy(change: dict[str, Any], subject: str) -> None:
    check = find(facts(**change), subject)

    assert check.state is State.PROBLEM
    assert check.remedy


def test_every_line_that_is_not_fine_has_a_remedy() -> None:
    """Also those that only a live cluster, or somebody with more permissions, can tell."""
    kinds = ("nodes", "services", "storageclasses.storage.k8s.io")
    forbidden = tuple(Gap(resource=name, reason="forbidden", message="you may not") for name in kinds)
    untold = tuple(Gap(resource=name, reason="not described", message="not told") for name in kinds[1:])
    of_file = Snapshot(taken_at=dt.datetime(2026, 1, 1, tzinfo=dt.UTC), source="file", gaps=untold)

    for found in (facts(allowed=False, gaps=forbidden), Facts(snapshot=of_file, gates_missing="a file")):
        silent = [c for c in examine(found).checks if c.state is not State.OK and not c.remedy]
        assert silent == []


def test_a_permission_that_is_half_there_is_not_called_absent() -> None:
    found = facts()
    answers = [(p, Answer(str(p) != "list events")) for p, _ in found.answers]

    check = find(replace(found, answers=answers), "see runs")

    assert check.text.startswith("not all of it allowed")
    assert check.permissions == ("list events",)


def test_a_gpu_node_without_labels_is_a_problem() -> None:
    bare = decode_object(
        {
            "metadata": {"name": "bare"},
            "status": {
                "allocatable": {"nvidia.com/gpu": "8"},
                "conditions": [{"type": "Ready", "status": "True"}],
            },
        },
        Node,
    )

    assert find(facts(nodes=(bare,)), "GPU labels").state is State.PROBLEM


def test_a_labelled_node_that_announces_no_gpu_has_a_broken_plugin() -> None:
    silent = decode_object(
        {"metadata": {"name": "s", "labels": {"nvidia.com/gpu.product": "Tesla-T4"}}}, Node
    )

    assert find(facts(nodes=(GOOD_NODE, silent)), "GPU plugin").state is State.PROBLEM


def test_optional_parts_are_absent_not_problems() -> None:
    for name in ("Kueue", "KServe", "metrics-server", "Prometheus", "shared volumes"):
        check = find(facts(), name)
        assert check.state is State.ABSENT
        assert check.remedy


def test_missing_verbs_are_named_one_by_one() -> None:
    check = find(facts(allowed=False), "see runs")

    assert "list pods" in check.permissions
    assert "watch jobs.batch" in check.permissions
    assert "list, watch on pods" in check.remedy


def test_verbs_with_the_same_resources_are_grouped() -> None:
    asked = [p for need in needs("ml", frozenset()) if need.name == "read logs" for p in need.permissions]

    assert grouped(asked) == "get on pods/log"


def test_gates_that_cannot_be_read_are_unknown() -> None:
    found = facts()
    hidden = Facts(snapshot=found.snapshot, groups=found.groups, gates_missing="you may not read /metrics")

    assert find(hidden, "feature gates").state is State.UNKNOWN


@pytest.mark.parametrize("provisioner", ["efs.csi.aws.com", "filestore.csi.storage.gke.io", "nfs.csi.k8s.io"])
def test_shared_file_systems_are_recognised(provisioner: str) -> None:
    shared = decode_object({"metadata": {"name": "fs"}, "provisioner": provisioner}, StorageClass)

    assert find(facts(storage_classes=(DISK, shared)), "shared volumes").state is State.OK
