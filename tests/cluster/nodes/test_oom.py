"""Who the kernel kills, and what Kubernetes says about it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from node_builders import GIB, a_container, a_pod, the_container

from tonnage.cluster.node.oom import (
    Domain,
    Victim,
    after_oom_kill,
    container_memory_limit,
    kills_whole_container,
    oom_score_adjust,
    pod_memory_limit,
    possible_endings,
    wall_hit,
    walls,
)
from tonnage.cluster.node.sparing import is_critical

NODE = 64 * GIB


def burstable(request: str, **parts: object):
    return a_pod("p", a_container(requests={"memory": request}, **parts))


@pytest.mark.parametrize(
    ("request_", "adjust"),
    [("64Mi", 999), ("1Gi", 985), ("16Gi", 750), ("32Gi", 500), ("63Gi", 16), ("64Gi", 3), ("65Gi", 3)],
)
def test_a_larger_request_makes_a_burstable_container_safer(request_, adjust):
    pod = burstable(request_)
    assert oom_score_adjust(pod, the_container(pod), NODE) == adjust


def test_guaranteed_is_spared_and_best_effort_goes_first():
    full = {"cpu": "1", "memory": "1Gi"}
    guaranteed = a_pod("g", a_container(requests=full, limits=full))
    gpu_only = a_pod("b", a_container(limits={"nvidia.com/gpu": "8"}, requests={"nvidia.com/gpu": "8"}))

    assert oom_score_adjust(guaranteed, the_container(guaranteed), NODE) == -997
    assert oom_score_adjust(gpu_only, the_container(gpu_only), NODE) == 1000


def test_priority_matters_only_for_node_critical_pods():
    important = a_pod("i", a_container(), priority=2_000_000_000, priorityClassName="system-cluster-critical")
    node_critical = a_pod(
        "n", a_container(), priority=2_000_001_000, priorityClassName="system-node-critical"
    )
    named_only = a_pod("x", a_container(), priority=5, priorityClassName="system-node-critical")

    assert [oom_score_adjust(p, the_container(p), NODE) for p in (important, node_critical, named_only)] == [
        1000,
        -997,
        1000,
    ]


def test_a_pod_level_request_is_shared_out_among_all_containers():
    pod = a_pod(
        "p",
        a_container("c", requests={"memory": "4Gi"}),
        a_container("d"),
        resources={"requests": {"memory": "16Gi"}},
    )
    # (16 - 4) GiB unclaimed over two containers: 6 GiB each.
    assert oom_score_adjust(pod, the_container(pod, "c"), NODE) == 1000 - 1000 * 10 // 64
    assert oom_score_adjust(pod, the_container(pod, "d"), NODE) == 1000 - 1000 * 6 // 64


def test_a_sidecar_is_never_killed_before_the_containers_it_serves():
    pod = a_pod(
        "p",
        a_container("c", requests={"memory": "16Gi"}),
        a_container("d", requests={"memory": "8Gi"}),
        initContainers=[a_container("side", requests={"memory": "64Mi"}, restartPolicy="Always")],
    )
    assert oom_score_adjust(pod, the_container(pod, "side"), NODE) == 1000 - 1000 * 8 // 64


@given(st.integers(0, 2**45), st.integers(2**20, 2**45))
def test_burstable_always_lies_between_guaranteed_and_best_effort(request, capacity):
    pod = a_pod("p", a_container(requests={"memory": str(request), "cpu": "1m"}))
    assert 3 <= oom_score_adjust(pod, the_container(pod), capacity) <= 999


def test_static_and_system_critical_pods_are_critical():
    assert is_critical(a_pod("m", annotations={"kubernetes.io/config.mirror": "x"}))
    assert is_critical(a_pod("f", annotations={"kubernetes.io/config.source": "file"}))
    assert is_critical(a_pod("s", priority=2_000_000_000))
    assert not is_critical(
        a_pod("u", priority=1_000_000_000, annotations={"kubernetes.io/config.source": "api"})
    )


def test_walls_stand_innermost_first_and_a_pod_wall_needs_every_limit():
    limited = a_container("c", limits={"memory": "2Gi"}, requests={"memory": "1Gi"})
    open_ = a_container("d", requests={"memory": "1Gi"})
    both, half = a_pod("p", limited), a_pod("q", limited, open_)

    assert [
        w.domain for w in walls(both, the_container(both), kubepods_limit=9, node_capacity_memory=10)
    ] == [
        Domain.CONTAINER,
        Domain.POD,
        Domain.KUBEPODS,
        Domain.NODE,
    ]
    assert pod_memory_limit(both) == 2 * GIB
    assert pod_memory_limit(half) is None
    assert container_memory_limit(half, the_container(half, "d")) is None


def test_a_container_without_limit_gets_the_pod_level_one():
    pod = a_pod("p", a_container(), resources={"limits": {"memory": "3Gi"}, "requests": {"memory": "1Gi"}})
    assert container_memory_limit(pod, the_container(pod)) == pod_memory_limit(pod) == 3 * GIB


def test_the_innermost_broken_wall_is_the_one_that_kills():
    pod = a_pod("p", a_container(limits={"memory": "2Gi"}, requests={"memory": "1Gi"}))
    around = walls(pod, the_container(pod), kubepods_limit=60 * GIB, node_capacity_memory=NODE)

    assert wall_hit(around, {Domain.CONTAINER: GIB, Domain.KUBEPODS: 61 * GIB}).domain is Domain.KUBEPODS
    assert wall_hit(around, {Domain.CONTAINER: 3 * GIB, Domain.POD: 3 * GIB}).domain is Domain.CONTAINER
    assert wall_hit(around, {Domain.NODE: GIB}) is None


@pytest.mark.parametrize(
    ("settings", "whole"),
    [
        ({"cgroup_version": 2}, True),
        ({"cgroup_version": 2, "kubelet_minor": 27}, False),
        ({"cgroup_version": 2, "single_process_oom_kill": True}, False),
        ({"cgroup_version": 1}, False),
    ],
)
def test_only_cgroup_v2_kills_a_container_as_a_whole(settings, whole):
    assert kills_whole_container(**settings) is whole


def test_a_child_that_dies_is_reported_only_when_pid_1_ends_and_with_its_own_code():
    assert after_oom_kill(Victim.CHILD, whole_container=False) is None
    clean = after_oom_kill(Victim.CHILD, whole_container=False, own_exit_code=0)
    assert (clean.reason, clean.exit_code) == ("OOMKilled", 0)
    together = after_oom_kill(Victim.CHILD, whole_container=True, own_exit_code=0)
    assert (together.reason, together.exit_code) == ("OOMKilled", 137)


def test_the_same_kill_may_read_error_when_the_runtime_looks_too_late():
    ends = possible_endings(Victim.PID_1, whole_container=False, own_exit_code=0)
    assert [(e.reason, e.exit_code) for e in ends] == [("OOMKilled", 137), ("Error", 137)]
