"""Pods that are refused for what they are, in the API server's words."""

from __future__ import annotations

import pytest
from admission_builders import a_container, a_pod, admitted, rejected

PATH = "spec.containers[0].resources"


@pytest.mark.parametrize(
    ("resources", "error"),
    [
        (
            {"requests": {"nvidia.com/gpu": "1"}},
            f"{PATH}.limits: Required value: Limit must be set for non overcommitable resources",
        ),
        (
            {"limits": {"nvidia.com/gpu": "2"}, "requests": {"nvidia.com/gpu": "1"}},
            f'{PATH}.requests: Invalid value: "1": must be equal to nvidia.com/gpu limit of 2',
        ),
        (
            {"limits": {"memory": "2Gi"}, "requests": {"memory": "3Gi"}},
            f'{PATH}.requests: Invalid value: "3Gi": must be less than or equal to memory limit of 2Gi',
        ),
        (
            {"requests": {"cpu": "-1"}},
            f'{PATH}.requests[cpu]: Invalid value: "-1": must be greater than or equal to 0',
        ),
        (
            {"limits": {"hugepages-2Mi": "4Mi"}},
            f"{PATH}: Forbidden: HugePages require cpu or memory",
        ),
    ],
)
def test_one_mistake_in_a_container(resources, error):
    answer = rejected(a_pod(a_container(**resources)))

    assert answer.status == 422
    assert answer.errors == {error}
    assert answer.message == f'Pod "p" is invalid: {error}'


def test_half_a_gpu_is_refused_in_limits_and_in_the_copied_request():
    answer = rejected(a_pod(a_container(limits={"nvidia.com/gpu": "0.5"})))

    assert answer.errors == {
        f'{PATH}.limits[nvidia.com/gpu]: Invalid value: "500m": must be an integer',
        f'{PATH}.requests[nvidia.com/gpu]: Invalid value: "500m": must be an integer',
    }


def test_zero_gpus_may_be_said():
    assert admitted(a_pod(a_container(limits={"nvidia.com/gpu": "0"}))).qos == "BestEffort"


def test_a_name_without_a_domain_must_be_one_kubernetes_knows():
    answer = rejected(a_pod(a_container(requests={"gpu": "1"})))

    assert answer.errors == {
        f'{PATH}.requests[gpu]: Invalid value: "gpu": must be a standard resource type or fully qualified',
        f'{PATH}.requests[gpu]: Invalid value: "gpu": must be a standard resource for containers',
    }


def test_pod_level_resources_know_only_cpu_memory_and_huge_pages():
    answer = rejected(a_pod(resources={"limits": {"nvidia.com/gpu": "1"}}))

    assert (
        'spec.resources.limits[nvidia.com/gpu]: Unsupported value: "nvidia.com/gpu": '
        'supported values: "cpu", "hugepages-", "memory"'
    ) in answer.errors


def test_containers_must_fit_into_the_pod():
    limits = {"memory": "2Gi"}
    answer = rejected(
        a_pod(
            a_container(limits=limits), resources={"limits": {"memory": "1Gi"}, "requests": {"memory": "1Gi"}}
        )
    )

    assert answer.errors == {
        'spec.resources.requests[memory]: Invalid value: "1Gi": '
        "must be greater than or equal to aggregate container requests of 2Gi",
        'spec.resources.containers[0][memory].limits: Invalid value: "2Gi": '
        "must be less than or equal to pod limits of 1Gi",
    }


def test_an_unreadable_quantity_stops_everything():
    answer = rejected(a_pod(a_container(limits={"memory": "64GB"})))

    assert answer.status == 400
    assert answer.message == (
        'Pod in version "v1" cannot be handled as a Pod: quantities must match the regular expression '
        "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
    )


def test_all_mistakes_are_reported_at_once():
    pod = a_pod(
        a_container("Bad", requests={"cpu": "2"}, limits={"cpu": "1"}),
        a_container("b", image=""),
        a_container("b"),
        restartPolicy="Sometimes",
        activeDeadlineSeconds=0,
        preemptionPolicy="PreemptLowerPriority",
    )

    paths = {error.partition(": ")[0] for error in rejected(pod).errors}

    assert paths == {
        "spec.containers[0].name",
        f"{PATH}.requests",
        "spec.containers[1].image",
        "spec.containers[2].name",
        "spec.restartPolicy",
        "spec.activeDeadlineSeconds",
    }


@pytest.mark.parametrize(
    ("toleration", "path"),
    [
        ({"operator": "Equal", "value": "x"}, "operator"),
        ({"key": "a", "operator": "Exists", "value": "x"}, "operator"),
        ({"key": "a", "operator": "Exists", "tolerationSeconds": 5}, "effect"),
        ({"key": "a", "operator": "Exists", "effect": "Now"}, "effect"),
        ({"key": "a b", "operator": "Exists"}, "key"),
    ],
)
def test_tolerations_are_checked(toleration, path):
    (error,) = rejected(a_pod(tolerations=[toleration])).errors

    assert error.startswith(f"spec.tolerations[0].{path}: ")


def test_a_gated_pod_may_not_name_its_node():
    answer = rejected(a_pod(schedulingGates=[{"name": "example.com/wait"}], nodeName="n1"))

    assert answer.errors == {
        "spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared"
    }


def test_a_pod_that_never_restarts_cannot_be_resized_by_restarting():
    policy = [{"resourceName": "memory", "restartPolicy": "RestartContainer"}]
    answer = rejected(a_pod(a_container(resizePolicy=policy), restartPolicy="Never"))

    assert answer.errors == {
        'spec.containers[0].resizePolicy: Invalid value: "RestartContainer": '
        "must be 'NotRequired' when pod `restartPolicy` is 'Never'"
    }


def test_names_are_quoted_as_plain_strings_and_resources_as_json():
    errors = rejected(a_pod(a_container("a<b", requests={"a<b": "1"}))).errors

    assert any(error.startswith('spec.containers[0].name: Invalid value: "a<b": ') for error in errors)
    assert any(error.startswith(f'{PATH}.requests[a<b]: Invalid value: "a\\u003cb": ') for error in errors)
