"""QoS classes, as the API server gives them."""

from __future__ import annotations

import pytest
from admission_builders import a_container, a_pod

from tonnage.cluster.qos import qos_class

FULL = {"cpu": "1", "memory": "1Gi"}


def test_equal_cpu_and_memory_everywhere_is_guaranteed():
    assert qos_class(a_pod(a_container(requests=FULL, limits=FULL))) == "Guaranteed"


def test_a_gpu_only_pod_is_best_effort():
    devices = {"nvidia.com/gpu": "8"}

    assert qos_class(a_pod(a_container(requests=devices, limits=devices))) == "BestEffort"


def test_memory_alone_is_burstable_even_when_request_and_limit_are_equal():
    assert qos_class(a_pod(a_container(requests={"memory": "1Gi"}, limits={"memory": "1Gi"}))) == "Burstable"


@pytest.mark.parametrize("restart", [None, "Always"])
def test_one_init_container_or_sidecar_without_limits_makes_the_pod_burstable(restart):
    init = a_container("i") | ({"restartPolicy": restart} if restart else {})
    pod = a_pod(a_container(requests=FULL, limits=FULL), initContainers=[init])

    assert qos_class(pod) == "Burstable"


def test_an_explicit_zero_is_as_good_as_nothing():
    zero = {"cpu": "0", "memory": "0"}

    assert qos_class(a_pod(a_container(requests=zero, limits=zero))) == "BestEffort"


def test_an_empty_pod_level_object_hides_the_containers():
    assert qos_class(a_pod(a_container(requests=FULL, limits=FULL), resources={})) == "BestEffort"


def test_pod_level_resources_decide_alone():
    pod = a_pod(a_container(), resources={"requests": FULL, "limits": FULL})

    assert qos_class(pod) == "Guaranteed"
    assert (
        qos_class(a_pod(a_container(requests=FULL, limits=FULL), resources={"limits": {"cpu": "1"}}))
        == "Burstable"
    )


def test_the_class_in_the_status_wins():
    assert qos_class(a_pod(a_container(), status={"qosClass": "Guaranteed"})) == "Guaranteed"
