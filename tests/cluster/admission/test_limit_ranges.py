"""What LimitRanges write into pods, and what they refuse."""

from __future__ import annotations

import pytest
from admission_builders import a_claim, a_container, a_limit_range, a_pod, admitted, rejected
from hypothesis import given
from hypothesis import strategies as st

from tonnage.cluster.admission.admitting import NamespacePolicies, admit_claim, possible_answers
from tonnage.cluster.admission.defaulting import default_limit_range
from tonnage.cluster.admission.limiting import ANNOTATION
from tonnage.cluster.messages.limiting import LimitBroken, parse_limits_broken


def stored(*items, name="lr"):
    return default_limit_range(a_limit_range(*items, name=name))


def container_item(**walls):
    return {"type": "Container", **walls}


def test_a_plain_container_is_handed_eight_gpus_by_a_maximum_of_eight():
    pod = admitted(a_pod(), limit_ranges=[stored(container_item(max={"nvidia.com/gpu": "8"}))]).pod

    assert pod.spec.containers[0].resources.limits == {"nvidia.com/gpu": "8"}
    assert pod.spec.containers[0].resources.requests == {"nvidia.com/gpu": "8"}


def test_a_default_of_zero_keeps_the_maximum_from_being_handed_out():
    item = container_item(max={"nvidia.com/gpu": "8"}, default={"nvidia.com/gpu": "0"})
    pod = admitted(a_pod(), limit_ranges=[stored(item)]).pod

    assert pod.spec.containers[0].resources.limits == {"nvidia.com/gpu": "0"}


def test_what_was_filled_in_is_noted_request_first():
    item = container_item(default={"cpu": "2", "memory": "2Gi"})
    pod = a_pod(a_container("a"), initContainers=[a_container("i", requests={"cpu": "1"})])

    note = admitted(pod, limit_ranges=[stored(item)]).pod.metadata.annotations[ANNOTATION]

    assert note == (
        "LimitRanger plugin set: cpu, memory request for container a; cpu, memory limit for container a; "
        "memory request for init container i; cpu, memory limit for init container i"
    )


def test_an_injected_limit_can_make_a_good_pod_invalid():
    pod = a_pod(a_container(requests={"memory": "3Gi"}))
    answer = rejected(pod, limit_ranges=[stored(container_item(default={"memory": "2Gi"}))])

    assert answer.status == 422
    assert answer.errors == {
        'spec.containers[0].resources.requests: Invalid value: "3Gi": must be less than '
        "or equal to memory limit of 2Gi"
    }


def test_the_filled_containers_reach_pod_level_requests_once_stored():
    item = container_item(defaultRequest={"memory": "128Mi"}, default={"memory": "256Mi"})
    pod = admitted(a_pod(resources={"limits": {"cpu": "8"}}), limit_ranges=[stored(item)]).pod

    assert pod.spec.resources.requests == {"cpu": "8", "memory": "128Mi"}


@pytest.mark.parametrize(
    ("item", "resources", "message"),
    [
        (
            {"min": {"memory": "1Gi"}},
            {"requests": {"memory": "512Mi"}, "limits": {"memory": "2Gi"}},
            "minimum memory usage per Container is 1Gi, but request is 512Mi",
        ),
        (
            {"max": {"memory": "4Gi"}},
            {"limits": {"memory": "8Gi"}},
            "maximum memory usage per Container is 4Gi, but limit is 8Gi",
        ),
        (
            {"maxLimitRequestRatio": {"memory": "2"}},
            {"requests": {"memory": "1Gi"}, "limits": {"memory": "16Gi"}},
            "memory max limit to request ratio per Container is 2, but provided ratio is 16.000000",
        ),
        (
            {"maxLimitRequestRatio": {"memory": "2"}},
            {},
            "memory max limit to request ratio per Container is 2, but no request is "
            "specified or request is 0",
        ),
    ],
)
def test_a_container_that_runs_into_a_wall(item, resources, message):
    answer = rejected(a_pod(a_container(**resources)), limit_ranges=[stored(container_item(**item))])

    assert answer.status == 403
    assert answer.message == f'pods "p" is forbidden: {message}'


def test_a_maximum_per_pod_demands_a_limit_from_everybody():
    wall = stored({"type": "Pod", "max": {"nvidia.com/gpu": "8"}})

    assert rejected(a_pod(), limit_ranges=[wall]).errors == {
        "maximum nvidia.com/gpu usage per Pod is 8.  No limit is specified"
    }


def test_the_whole_pod_is_summed_and_pod_level_memory_replaces_the_sum():
    wall = stored({"type": "Pod", "max": {"memory": "5Gi"}})
    twice = [a_container(name, limits={"memory": "8Gi"}) for name in "ab"]

    assert rejected(a_pod(*twice), limit_ranges=[wall]).errors == {
        "maximum memory usage per Pod is 5Gi, but limit is 16Gi"
    }
    assert admitted(a_pod(resources={"limits": {"memory": "4Gi"}}), limit_ranges=[wall])


def test_several_broken_walls_stand_in_brackets_and_equal_ones_are_said_once():
    wall = stored(container_item(min={"cpu": "1"}, max={"memory": "1Gi"}))
    small = {"requests": {"cpu": "500m"}, "limits": {"cpu": "2", "memory": "2Gi"}}
    answer = rejected(a_pod(a_container("a", **small), a_container("b", **small)), limit_ranges=[wall])

    assert len(answer.errors) == 2
    assert answer.message.startswith('pods "p" is forbidden: [')
    assert {str(broken) for broken in parse_limits_broken(answer.message)} == answer.errors


def test_of_two_limit_ranges_either_may_fill_first():
    ranges = [stored(container_item(default={"cpu": amount}), name=amount) for amount in ("1", "2")]
    answers = possible_answers(a_pod(), NamespacePolicies(limit_ranges=ranges))

    assert {answer.pod.spec.containers[0].resources.limits["cpu"] for answer in answers} == {"1", "2"}


def test_of_two_limit_ranges_either_may_refuse_first():
    ranges = [stored({"type": "Pod", "max": {name: "1"}}, name=f"lr-{name}") for name in ("cpu", "memory")]
    answers = possible_answers(a_pod(), NamespacePolicies(limit_ranges=ranges))

    assert len({answer.message for answer in answers}) == 2


def test_a_claim_is_measured_by_its_request():
    walls = NamespacePolicies(
        limit_ranges=[stored({"type": "PersistentVolumeClaim", "max": {"storage": "500Gi"}})]
    )
    (answer,) = admit_claim(a_claim("1Ti"), walls)

    assert answer.message == (
        'persistentvolumeclaims "claim" is forbidden: '
        "maximum storage usage per PersistentVolumeClaim is 500Gi, but request is 1Ti"
    )


names = st.sampled_from(["cpu", "memory", "nvidia.com/gpu", "ephemeral-storage"])
amounts = st.sampled_from(["1", "500m", "1.500", "4Gi", "100k"])
kinds = st.sampled_from(["Container", "Pod", "PersistentVolumeClaim"])
walls = st.one_of(
    st.builds(
        LimitBroken,
        wall=st.sampled_from(["minimum", "maximum"]),
        resource=names,
        per=kinds,
        bound=amounts,
        side=st.sampled_from(["request", "limit"]),
        found=st.none() | amounts,
    ),
    st.builds(
        LimitBroken,
        wall=st.just("ratio"),
        resource=names,
        per=kinds,
        bound=amounts,
        side=st.just("ratio"),
        found=st.just("16.000000"),
    ),
    st.builds(
        LimitBroken,
        wall=st.just("ratio"),
        resource=names,
        per=kinds,
        bound=amounts,
        side=st.sampled_from(["request", "limit"]),
    ),
)


@given(st.lists(walls, min_size=1, max_size=4), st.booleans())
def test_what_is_written_is_read_back(broken, old_full_stops):
    texts = [f"{wall}." if old_full_stops else str(wall) for wall in broken]
    body = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"

    assert parse_limits_broken(f'pods "p" is forbidden: {body}') == tuple(broken)


def test_other_refusals_are_not_taken_for_a_limit_range():
    assert parse_limits_broken('pods "p" is forbidden: exceeded quota: q, requested: pods=1') == ()
