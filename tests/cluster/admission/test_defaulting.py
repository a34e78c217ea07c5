"""What the API server fills in before anybody looks."""

from __future__ import annotations

from admission_builders import a_container, a_limit_range, a_pod

from tonnage.cluster.admission.defaulting import default_limit_range, default_pod


def resources_of(pod):
    return pod.spec.containers[0].resources


def test_a_missing_request_is_copied_from_the_limit_key_by_key():
    pod = default_pod(a_pod(a_container(requests={"cpu": "1"}, limits={"cpu": "2", "memory": "1Gi"})))

    assert resources_of(pod).requests == {"cpu": "1", "memory": "1Gi"}


def test_without_a_limit_the_request_stays_unset():
    assert resources_of(default_pod(a_pod(a_container(requests={"cpu": "1"})))).limits == {}


def test_amounts_are_rounded_up_to_thousandths_and_printed_canonically():
    pod = default_pod(a_pod(a_container(requests={"cpu": "0.1m", "memory": "1024Mi"})))

    assert resources_of(pod).requests == {"cpu": "1m", "memory": "1Gi"}


def test_pod_level_requests_come_from_the_containers_else_from_the_pod_limit():
    pod = default_pod(
        a_pod(
            a_container("a", requests={"cpu": "1"}),
            a_container("b", requests={"cpu": "500m"}),
            resources={"limits": {"cpu": "4", "memory": "8Gi"}},
        )
    )

    assert pod.spec.resources.requests == {"cpu": "1500m", "memory": "8Gi"}


def test_without_pod_level_limits_nothing_is_defaulted_at_pod_level():
    pod = default_pod(a_pod(a_container(requests={"memory": "1Gi"}), resources={"requests": {"cpu": "1"}}))

    assert pod.spec.resources.requests == {"cpu": "1"}


def test_huge_pages_of_containers_become_the_pods_limit():
    pages = {"hugepages-2Mi": "4Mi", "memory": "64Mi"}
    pod = default_pod(a_pod(a_container(limits=pages), resources={"requests": {"cpu": "1"}}))

    assert pod.spec.resources.limits == {"hugepages-2Mi": "4Mi"}
    assert pod.spec.resources.requests == {"cpu": "1", "memory": "64Mi", "hugepages-2Mi": "4Mi"}


def test_policies_have_defaults():
    spec = default_pod(a_pod()).spec

    assert (spec.restart_policy, spec.termination_grace_period_seconds, spec.scheduler_name) == (
        "Always",
        30,
        "default-scheduler",
    )


def test_host_network_puts_container_ports_on_the_host():
    pod = default_pod(a_pod(a_container(ports=[{"containerPort": 29500}]), hostNetwork=True))

    assert pod.spec.containers[0].ports[0].host_port == 29500


def test_a_maximum_on_containers_becomes_default_and_default_request():
    item = default_limit_range(
        a_limit_range({"type": "Container", "max": {"nvidia.com/gpu": "8"}})
    ).spec.limits[0]

    assert item.default == {"nvidia.com/gpu": "8"}
    assert item.default_request == {"nvidia.com/gpu": "8"}


def test_a_minimum_becomes_the_default_request_only_if_nothing_else_does():
    lone = a_limit_range({"type": "Container", "min": {"cpu": "100m"}})
    both = a_limit_range({"type": "Container", "min": {"cpu": "100m"}, "max": {"cpu": "1"}})

    assert default_limit_range(lone).spec.limits[0].default_request == {"cpu": "100m"}
    assert default_limit_range(both).spec.limits[0].default_request == {"cpu": "1"}


def test_a_maximum_on_pods_defaults_nothing():
    item = default_limit_range(a_limit_range({"type": "Pod", "max": {"nvidia.com/gpu": "8"}})).spec.limits[0]

    assert item.default == {}
    assert item.default_request == {}


def test_defaulting_twice_changes_nothing_more():
    once = default_pod(
        a_pod(a_container(limits={"cpu": "1.5", "memory": "0.3Gi"}), resources={"limits": {"cpu": "4"}})
    )

    assert default_pod(once) == once
