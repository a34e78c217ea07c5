"""Manifests that tutorials pass around, and what a cluster really does with them."""

from __future__ import annotations

from admission_builders import (
    a_claim,
    a_class,
    a_container,
    a_limit_range,
    a_pod,
    a_quota,
    admitted,
    rejected,
)

from tonnage.cluster.admission.admitting import (
    NamespacePolicies,
    Stored,
    admit_claim,
    admit_limit_range,
    admit_quota,
)
from tonnage.cluster.admission.quota import unenforced_keys

GPU = "nvidia.com/gpu"


def stored_limit_range():
    item = {
        "type": "Container",
        "default": {"cpu": "2", "memory": "8Gi"},
        "defaultRequest": {"cpu": "1", "memory": "4Gi"},
        "max": {"cpu": "32", "memory": "256Gi", GPU: "8"},
        "min": {"cpu": "100m", "memory": "128Mi"},
    }
    (answer,) = admit_limit_range(a_limit_range(item), NamespacePolicies())
    return answer.object


def test_eight_guaranteed_of_thirty_two_is_a_wall_at_eight():
    quota = a_quota(
        "ml-research",
        hard={f"requests.{GPU}": "8", f"limits.{GPU}": "32"},
        used={f"requests.{GPU}": "8"},
    )

    assert unenforced_keys(quota) == (f"limits.{GPU}",)
    assert rejected(a_pod(a_container(limits={GPU: "1"})), quotas=[quota]).errors == {
        f"exceeded quota: ml-research, requested: requests.{GPU}=1, used: "
        f"requests.{GPU}=8, limited: requests.{GPU}=8"
    }


def test_a_production_quota_that_counts_services_for_two_classes_is_refused_whole():
    selector = {
        "matchExpressions": [{"scopeName": "PriorityClass", "operator": "In", "values": ["critical"]}]
    }
    (answer,) = admit_quota(
        a_quota(hard={f"requests.{GPU}": "16", "services": "50"}, scopeSelector=selector), NamespacePolicies()
    )

    assert answer.status == 422
    assert "unsupported scope applied to resource" in answer.message


def test_at_most_eight_gpus_per_container_gives_eight_to_a_web_server():
    pod = admitted(a_pod(a_container("nginx")), limit_ranges=[stored_limit_range()]).pod

    assert pod.spec.containers[0].resources.limits == {"cpu": "2", "memory": "8Gi", GPU: "8"}
    assert pod.spec.containers[0].resources.requests == {"cpu": "1", "memory": "4Gi", GPU: "8"}


def test_under_a_full_quota_even_the_web_server_is_refused():
    quota = a_quota(hard={f"requests.{GPU}": "8"}, used={f"requests.{GPU}": "8"})
    answer = rejected(a_pod(a_container("nginx")), limit_ranges=[stored_limit_range()], quotas=[quota])

    assert answer.message.startswith(
        'pods "p" is forbidden: exceeded quota: q, requested: requests.nvidia.com/gpu=8'
    )


def test_gpus_in_requests_alone_are_refused():
    resources = {"requests": {"memory": "64Gi", GPU: "1"}, "limits": {"memory": "128Gi"}}

    assert rejected(a_pod(a_container(**resources))).errors == {
        "spec.containers[0].resources.limits: Required value: Limit must be set for non "
        "overcommitable resources"
    }


def test_sixty_four_to_one_hundred_and_twenty_eight_gibibytes_is_burstable():
    resources = {"requests": {"memory": "64Gi"}, "limits": {"memory": "128Gi", GPU: "1"}}

    assert admitted(a_pod(a_container(**resources))).qos == "Burstable"


def test_half_a_gpu_is_refused():
    answer = rejected(a_pod(a_container(limits={GPU: "0.5"})))

    assert all('Invalid value: "500m": must be an integer' in error for error in answer.errors)


def test_a_training_job_that_retries_and_asks_for_nothing_is_best_effort():
    assert admitted(a_pod(restartPolicy="OnFailure")).qos == "BestEffort"


def test_classes_named_critical_do_not_cover_pods_of_ml_critical():
    selector = {
        "matchExpressions": [{"scopeName": "PriorityClass", "operator": "In", "values": ["critical"]}]
    }
    quota = a_quota(hard={f"requests.{GPU}": "0"}, scopeSelector=selector)
    pod = a_pod(a_container(limits={GPU: "8"}), priorityClassName="ml-critical")

    assert admitted(pod, quotas=[quota], priority_classes=[a_class("ml-critical", 1_000_000)])


def test_six_hundred_gibibytes_run_into_the_claims_wall():
    (wall,) = admit_limit_range(
        a_limit_range(
            {"type": "PersistentVolumeClaim", "max": {"storage": "500Gi"}, "min": {"storage": "1Gi"}}
        ),
        NamespacePolicies(),
    )
    assert isinstance(wall, Stored)
    (answer,) = admit_claim(a_claim("600Gi"), NamespacePolicies(limit_ranges=[wall.object]))

    assert answer.errors == {"maximum storage usage per PersistentVolumeClaim is 500Gi, but request is 600Gi"}
