"""Quotas: what counts, for whom, and the words of the refusal."""

from __future__ import annotations

import datetime as dt

import msgspec
import pytest
from admission_builders import a_claim, a_container, a_pod, a_quota, admitted, rejected

from tonnage.cluster.admission.admitting import NamespacePolicies, admit_claim, possible_answers
from tonnage.cluster.admission.quota import namespace_usage, pod_usage, unenforced_keys
from tonnage.cluster.objects import Pod
from tonnage.cluster.resources import texts

FULL = {"cpu": "1", "memory": "1Gi"}


def gpu_pod(count="4", **spec):
    return a_pod(a_container(limits={"nvidia.com/gpu": count}), **spec)


def selecting(operator, *values):
    line = {"scopeName": "PriorityClass", "operator": operator}
    return {"matchExpressions": [line | ({"values": list(values)} if values else {})]}


def test_the_ninth_gpu_is_refused():
    quota = a_quota(
        "ml-research-quota", hard={"requests.nvidia.com/gpu": "8"}, used={"requests.nvidia.com/gpu": "8"}
    )

    assert rejected(gpu_pod(), quotas=[quota]).message == (
        'pods "p" is forbidden: exceeded quota: ml-research-quota, requested: requests.nvidia.com/gpu=4, '
        "used: requests.nvidia.com/gpu=8, limited: requests.nvidia.com/gpu=8"
    )


@pytest.mark.parametrize("key", ["limits.nvidia.com/gpu", "nvidia.com/gpu"])
def test_other_spellings_of_a_gpu_quota_are_never_enforced(key):
    quota = a_quota(hard={key: "1"}, used={})

    assert admitted(gpu_pod("2"), quotas=[quota])
    assert unenforced_keys(quota) == (key,)


def test_only_the_exceeded_keys_are_listed_sorted():
    quota = a_quota(
        hard={"requests.memory": "1Gi", "pods": "5", "requests.cpu": "1"},
        used={"requests.memory": "1Gi", "pods": "0", "requests.cpu": "500m"},
    )
    pod = a_pod(a_container(requests=FULL))

    assert rejected(pod, quotas=[quota]).errors == {
        "exceeded quota: q, requested: requests.cpu=1,requests.memory=1Gi, "
        "used: requests.cpu=500m,requests.memory=1Gi, limited: requests.cpu=1,requests.memory=1Gi"
    }


def test_cpu_and_memory_must_be_said_by_every_container_and_init_container():
    quota = a_quota(hard={"limits.cpu": "8", "limits.memory": "8Gi", "requests.nvidia.com/gpu": "8"})
    pod = a_pod(a_container("b"), a_container("a", limits={"cpu": "1"}), initContainers=[a_container("i")])

    assert rejected(pod, quotas=[quota]).errors == {
        "failed quota: q: must specify limits.cpu for: b,i; limits.memory for: a,b,i"
    }


def test_pod_level_resources_excuse_the_containers():
    quota = a_quota(hard={"limits.cpu": "8", "requests.memory": "8Gi"})

    assert admitted(a_pod(resources={"limits": {"cpu": "1"}}), quotas=[quota])


def test_gpus_and_disk_need_not_be_said():
    quota = a_quota(hard={"requests.nvidia.com/gpu": "8", "requests.ephemeral-storage": "1Gi"})

    assert admitted(a_pod(), quotas=[quota])


def test_a_quota_not_counted_yet_lets_everything_through():
    quota = msgspec.structs.replace(a_quota(hard={"pods": "1"}), status=type(a_quota(hard={}).status)())

    assert admitted(a_pod(), quotas=[quota])


def test_a_key_without_a_count_stops_the_pod():
    quota = a_quota(hard={"pods": "1", "count/pods": "3"}, used={"pods": "0"})

    assert rejected(a_pod(), quotas=[quota]).errors == {
        "status unknown for quota: q, resources: count/pods,pods"
    }


@pytest.mark.parametrize(
    ("scope", "inside", "outside"),
    [
        ("Terminating", {"activeDeadlineSeconds": 60}, {}),
        ("NotTerminating", {}, {"activeDeadlineSeconds": 60}),
    ],
)
def test_a_deadline_makes_a_pod_terminating(scope, inside, outside):
    quota = a_quota(hard={"pods": "0"}, scopes=[scope])

    assert rejected(a_pod(**inside), quotas=[quota])
    assert admitted(a_pod(**outside), quotas=[quota])


def test_a_gpu_only_pod_falls_under_best_effort():
    quota = a_quota(hard={"pods": "0"}, scopes=["BestEffort"])

    assert rejected(gpu_pod(), quotas=[quota])
    assert admitted(a_pod(a_container(requests=FULL)), quotas=[quota])


@pytest.mark.parametrize(
    ("selector", "unnamed", "high", "typo"),
    [
        (selecting("In", "critical", "high"), False, True, False),
        (selecting("NotIn", "high"), True, False, True),
        (selecting("Exists"), False, True, True),
        (selecting("DoesNotExist"), True, False, False),
    ],
)
def test_priority_classes_are_matched_by_exact_name(selector, unnamed, high, typo):
    from admission_builders import a_class

    quota = a_quota(hard={"requests.nvidia.com/gpu": "1"}, scopeSelector=selector)
    classes = [a_class("high", 10), a_class("ml-high", 10)]

    def is_limited(name):
        pod = gpu_pod(**({"priorityClassName": name} if name else {}))
        answer = possible_answers(pod, NamespacePolicies(quotas=[quota], priority_classes=classes))[0]
        return not hasattr(answer, "pod")

    assert [is_limited(name) for name in (None, "high", "ml-high")] == [unnamed, high, typo]


def test_cross_namespace_affinity_is_a_scope():
    quota = a_quota(hard={"pods": "0"}, scopes=["CrossNamespacePodAffinity"])
    term = {"topologyKey": "zone", "namespaces": ["other"]}
    reaching = a_pod(affinity={"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}})

    assert rejected(reaching, quotas=[quota])
    assert admitted(a_pod(), quotas=[quota])


def test_all_scopes_must_match():
    quota = a_quota(hard={"pods": "0"}, scopes=["Terminating", "NotBestEffort"])

    assert admitted(a_pod(activeDeadlineSeconds=5), quotas=[quota])
    assert rejected(a_pod(a_container(requests=FULL), activeDeadlineSeconds=5), quotas=[quota])


def test_of_two_full_quotas_either_may_speak():
    quotas = [a_quota(name, hard={"pods": "0"}) for name in "ab"]
    answers = possible_answers(a_pod(), NamespacePolicies(quotas=quotas))

    assert {answer.message.split()[6] for answer in answers} == {"a,", "b,"}


def test_what_a_pod_costs():
    pod = a_pod(
        a_container(
            requests={"cpu": "1", "memory": "1Gi", "ephemeral-storage": "1Gi", "nvidia.com/gpu": "2"},
            limits={"cpu": "2", "nvidia.com/gpu": "2"},
        )
    )

    assert texts(pod_usage(pod)) == {
        "count/pods": "1",
        "pods": "1",
        "cpu": "1",
        "requests.cpu": "1",
        "limits.cpu": "2",
        "memory": "1Gi",
        "requests.memory": "1Gi",
        "ephemeral-storage": "1Gi",
        "requests.ephemeral-storage": "1Gi",
        "requests.nvidia.com/gpu": "2",
    }


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_finished_pod_is_only_counted(phase):
    assert texts(pod_usage(a_pod(a_container(requests=FULL), status={"phase": phase}))) == {"count/pods": "1"}


def test_a_pod_stuck_in_deletion_is_forgiven_after_twice_its_grace():
    deleted = {"name": "p", "deletionTimestamp": "2026-03-01T10:00:30Z", "deletionGracePeriodSeconds": 30}
    pod = msgspec.convert({"metadata": deleted, "spec": {"containers": [a_container()]}}, Pod)
    at_ten = dt.datetime(2026, 3, 1, 10, tzinfo=dt.UTC)

    assert "pods" in pod_usage(pod, now=at_ten + dt.timedelta(seconds=59))
    assert "pods" not in pod_usage(pod, now=at_ten + dt.timedelta(seconds=61))


def test_the_namespace_is_summed_over_the_pods_in_scope():
    quota = a_quota(hard={"pods": "9", "requests.cpu": "9", "services": "3"}, scopes=["NotBestEffort"])
    pods = [a_pod(a_container(requests=FULL)), a_pod(a_container(requests=FULL)), a_pod()]

    assert texts(namespace_usage(quota, pods)) == {"pods": "2", "requests.cpu": "2"}


def test_claims_are_charged_in_whole_bytes_and_to_their_class():
    quota = a_quota(
        hard={"requests.storage": "10Gi", "gold.storageclass.storage.k8s.io/requests.storage": "1Gi"},
    )
    (answer,) = admit_claim(a_claim("2Gi", storageClassName="gold"), NamespacePolicies(quotas=[quota]))

    assert answer.errors == {
        "exceeded quota: q, requested: gold.storageclass.storage.k8s.io/requests.storage=2Gi, "
        "used: gold.storageclass.storage.k8s.io/requests.storage=0, "
        "limited: gold.storageclass.storage.k8s.io/requests.storage=1Gi"
    }


def test_a_claim_in_expansion_is_charged_for_what_it_was_granted():
    quota = a_quota(hard={"requests.storage": "1Ti"})
    claim = a_claim("10Gi")
    granted = msgspec.structs.replace(claim.status, allocated_resources={"storage": "20Gi"})
    growing = msgspec.structs.replace(claim, status=granted)

    assert texts(namespace_usage(quota, [], [growing, a_claim("1.5")])) == {"requests.storage": "21474836482"}


def test_a_scoped_quota_never_counts_other_objects():
    assert unenforced_keys(a_quota(hard={"count/jobs.batch": "5", "pods": "1"}, scopes=["Terminating"])) == (
        "count/jobs.batch",
    )
    assert unenforced_keys(a_quota(hard={"count/jobs.batch": "5"})) == ()
