"""What a pod asks for, all in."""

from __future__ import annotations

from admission_builders import a_container, a_pod
from hypothesis import given
from hypothesis import strategies as st

from tonnage.cluster.resources import SCORING_DEFAULTS, amounts, pod_limits, pod_requests, texts


def sidecar(name="s", **resources):
    return a_container(name, restartPolicy="Always", **resources)


def test_containers_are_added_up():
    pod = a_pod(
        a_container("a", requests={"cpu": "1", "nvidia.com/gpu": "4"}),
        a_container("b", requests={"cpu": "500m"}),
    )

    assert texts(pod_requests(pod)) == {"cpu": "1500m", "nvidia.com/gpu": "4"}


def test_an_init_container_counts_only_where_it_is_hungrier_than_all_the_rest():
    init = a_container("i", requests={"cpu": "4", "memory": "1Gi"})
    pod = a_pod(a_container("a", requests={"cpu": "1", "memory": "2Gi"}), initContainers=[init])

    assert texts(pod_requests(pod)) == {"cpu": "4", "memory": "2Gi"}


def test_a_sidecar_counts_beside_the_containers_and_beside_later_init_containers():
    init = a_container("i", requests={"cpu": "4"})
    pod = a_pod(
        a_container("a", requests={"cpu": "2"}), initContainers=[sidecar(requests={"cpu": "1"}), init]
    )

    assert texts(pod_requests(pod)) == {"cpu": "5"}


def test_an_init_container_before_the_sidecar_does_not_pay_for_it():
    init = a_container("i", requests={"cpu": "4"})
    pod = a_pod(
        a_container("a", requests={"cpu": "2"}), initContainers=[init, sidecar(requests={"cpu": "1"})]
    )

    assert texts(pod_requests(pod)) == {"cpu": "4"}


def test_pod_level_requests_replace_the_sum_for_cpu_and_memory_only():
    pod = a_pod(
        a_container(requests={"cpu": "1", "nvidia.com/gpu": "2"}, limits={"nvidia.com/gpu": "2"}),
        resources={"requests": {"cpu": "3"}, "limits": {"cpu": "8"}},
    )

    assert texts(pod_requests(pod)) == {"cpu": "3", "nvidia.com/gpu": "2"}
    assert texts(pod_limits(pod)) == {"cpu": "8", "nvidia.com/gpu": "2"}


def test_overhead_is_added_to_requests_and_to_the_limits_that_exist():
    pod = a_pod(
        a_container(requests={"cpu": "1"}, limits={"cpu": "2"}), overhead={"cpu": "250m", "memory": "64Mi"}
    )

    assert texts(pod_requests(pod)) == {"cpu": "1250m", "memory": "64Mi"}
    assert texts(pod_limits(pod)) == {"cpu": "2250m"}


def resizing_pod(reason):
    status = {
        "containerStatuses": [
            {
                "name": "c",
                "allocatedResources": {"memory": "2Gi"},
                "resources": {"requests": {"memory": "3Gi"}, "limits": {"memory": "3Gi"}},
            }
        ],
        "conditions": [{"type": "PodResizePending", "status": "True", "reason": reason}],
    }
    return a_pod(a_container(requests={"memory": "8Gi"}, limits={"memory": "8Gi"}), status=status)


def test_while_a_resize_waits_the_largest_of_asked_allocated_and_actual_counts():
    assert texts(pod_requests(resizing_pod("Deferred"))) == {"memory": "8Gi"}


def test_an_infeasible_resize_does_not_count():
    assert texts(pod_requests(resizing_pod("Infeasible"))) == {"memory": "3Gi"}
    assert texts(pod_limits(resizing_pod("Infeasible"))) == {"memory": "3Gi"}


def test_a_finished_resize_downwards_still_counts_what_the_node_holds():
    status = {
        "containerStatuses": [
            {"name": "c", "allocatedResources": {"cpu": "4"}, "resources": {"requests": {"cpu": "4"}}}
        ]
    }
    pod = a_pod(a_container(requests={"cpu": "1"}), status=status)

    assert texts(pod_requests(pod)) == {"cpu": "4"}
    assert texts(pod_requests(pod, from_status=False)) == {"cpu": "1"}


def test_scores_assume_a_little_of_every_container_that_asks_for_nothing():
    pod = a_pod(a_container("a"), a_container("b", requests={"cpu": "0"}))

    scoring = pod_requests(pod, missing=SCORING_DEFAULTS)

    assert scoring["cpu"].milli() == 100
    assert scoring["memory"].value() == 2 * 200 * 2**20


numbers = st.lists(st.integers(0, 64), min_size=1, max_size=3)
inits = st.lists(st.tuples(st.booleans(), st.integers(0, 64)), max_size=4)


@given(numbers, inits)
def test_a_pod_asks_for_at_least_what_any_moment_of_its_life_needs(main, init):
    pod = a_pod(
        *(a_container(f"c{i}", requests={"cpu": str(n)}) for i, n in enumerate(main)),
        initContainers=[
            (sidecar if side else a_container)(f"i{i}", requests={"cpu": str(n)})
            for i, (side, n) in enumerate(init)
        ],
    )
    running = sum(main) + sum(n for side, n in init if side)
    moments = [running]
    beside = 0
    for side, n in init:
        moments.append(beside + n)
        beside += n if side else 0

    assert pod_requests(pod)["cpu"].value() == max(moments)
    assert pod_requests(pod).keys() == amounts({"cpu": "1"}).keys()
