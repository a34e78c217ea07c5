"""Who speaks first when several have something to say."""

from __future__ import annotations

from admission_builders import a_container, a_limit_range, a_pod, a_quota, admitted, rejected

from tonnage.cluster.admission.defaulting import default_limit_range

FULL_QUOTA = a_quota(hard={"pods": "0"})
GPU_WALL = default_limit_range(a_limit_range({"type": "Pod", "max": {"nvidia.com/gpu": "1"}}))


def test_an_unreadable_quantity_comes_before_a_missing_class():
    pod = a_pod(a_container(limits={"cpu": "a lot"}), priorityClassName="nope")

    assert rejected(pod).status == 400


def test_a_missing_class_comes_before_an_invalid_spec():
    pod = a_pod(a_container(limits={"nvidia.com/gpu": "0.5"}), priorityClassName="nope")

    assert rejected(pod).errors == {"no PriorityClass with name nope was found"}


def test_an_invalid_spec_comes_before_limit_ranges_and_quotas():
    pod = a_pod(a_container(limits={"nvidia.com/gpu": "2.5"}))

    assert rejected(pod, limit_ranges=[GPU_WALL], quotas=[FULL_QUOTA]).status == 422


def test_a_limit_range_comes_before_a_quota():
    pod = a_pod(a_container(limits={"nvidia.com/gpu": "2"}))
    answer = rejected(pod, limit_ranges=[GPU_WALL], quotas=[FULL_QUOTA])

    assert answer.errors == {"maximum nvidia.com/gpu usage per Pod is 1, but limit is 2"}


def test_a_limit_range_fills_in_what_a_quota_demands():
    quota = a_quota(hard={"requests.memory": "8Gi"})
    filled = default_limit_range(a_limit_range({"type": "Container", "default": {"memory": "1Gi"}}))

    assert rejected(a_pod(), quotas=[quota])
    assert admitted(a_pod(), quotas=[quota], limit_ranges=[filled])


def test_lost_nodes_are_tolerated_for_five_minutes_unless_said_otherwise():
    added = admitted(a_pod()).pod.spec.tolerations
    own = admitted(a_pod(tolerations=[{"operator": "Exists"}])).pod.spec.tolerations

    assert [(t.key, t.toleration_seconds) for t in added] == [
        ("node.kubernetes.io/not-ready", 300),
        ("node.kubernetes.io/unreachable", 300),
    ]
    assert len(own) == 1


def test_a_runtime_class_brings_its_overhead():
    classes = {"sandboxed": {"cpu": "250m"}}
    pod = admitted(a_pod(runtimeClassName="sandboxed"), runtime_classes=classes).pod

    assert pod.spec.overhead == {"cpu": "250m"}


def test_overhead_and_runtime_class_must_agree():
    classes = {"sandboxed": {"cpu": "250m"}}

    assert rejected(a_pod(runtimeClassName="gone")).errors == {'pod rejected: RuntimeClass "gone" not found'}
    assert rejected(a_pod(overhead={"cpu": "1"})).errors == {
        "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"
    }
    assert rejected(
        a_pod(overhead={"cpu": "1"}, runtimeClassName="sandboxed"), runtime_classes=classes
    ).errors == {"pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"}
