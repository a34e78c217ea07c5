"""Every text a node or a Job writes can be read, and is written back to the character."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from node_builders import a_container, a_pod

from tonnage.cluster.messages.disruption import (
    format_budget_cause,
    format_preempted_event,
    format_taint_event,
    parse_budget_cause,
    parse_preempted_event,
    parse_taint_event,
)
from tonnage.cluster.messages.eviction import (
    ContainerOverLimit,
    EmptyDirOverLimit,
    NodeHadCondition,
    NodeLow,
    Offender,
    PodOverLimit,
    format_eviction,
    format_reclaiming,
    parse_eviction,
    parse_reclaiming,
)
from tonnage.cluster.messages.job import (
    ConditionMatched,
    ExitCodeMatched,
    format_policy_match,
    format_success_rule,
    parse_policy_match,
    parse_success_rule,
)
from tonnage.cluster.messages.rejection import (
    DevicesUnavailable,
    OutOf,
    PredicateFailed,
    ShuttingDown,
    TopologyMismatch,
    Unexpected,
    format_rejection,
    parse_rejection,
    rejection_reason,
)
from tonnage.cluster.messages.resize import (
    BelowUsage,
    format_below_usage,
    format_resize_event,
    parse_below_usage,
    parse_resize_event,
)

names = st.from_regex(r"[a-z0-9]([a-z0-9\-]{0,20}[a-z0-9])?", fullmatch=True)
quantities = st.from_regex(r"(0|[1-9][0-9]{0,6})(m|k|Ki|Mi|Gi)?", fullmatch=True)
counts = st.integers(0, 2**60)
offenders = st.builds(Offender, names, quantities, quantities, st.booleans())
lows = st.builds(
    lambda resource, met, blamed, old: NodeLow(
        resource, *(met or (None, None)), tuple(blamed), old and bool(blamed)
    ),
    st.sampled_from(["memory", "ephemeral-storage", "inodes", "pids"]),
    st.none() | st.tuples(quantities, quantities),
    st.lists(offenders, max_size=3),
    st.booleans(),
)
evictions = st.one_of(
    lows,
    st.builds(EmptyDirOverLimit, names, quantities),
    st.builds(PodOverLimit, quantities),
    st.builds(ContainerOverLimit, names, quantities),
    st.lists(st.sampled_from(["MemoryPressure", "DiskPressure", "PIDPressure"]), min_size=1, unique=True).map(
        lambda found: NodeHadCondition(tuple(found))
    ),
)
rejections = st.one_of(
    st.builds(OutOf, st.sampled_from(["cpu", "memory", "pods", "nvidia.com/gpu"]), counts, counts, counts),
    st.builds(DevicesUnavailable, st.just("nvidia.com/gpu"), counts, counts),
    st.builds(TopologyMismatch, st.booleans()),
    st.builds(
        PredicateFailed, st.just("NodeAffinity"), st.just("node(s) didn't match Pod's node affinity/selector")
    ),
    st.just(ShuttingDown()),
    st.builds(
        Unexpected, st.just("PodOSNotSupported"), st.just("Failed to admit pod as the OS field differs")
    ),
)


@given(evictions)
def test_eviction_texts_round_trip(eviction):
    assert parse_eviction(format_eviction(eviction)) == eviction


@given(rejections)
def test_rejections_round_trip_through_status_and_event(rejection):
    text = format_rejection(rejection)
    assert parse_rejection(rejection_reason(rejection), f"Pod was rejected: {text}") == rejection


@given(
    st.builds(
        ExitCodeMatched,
        names,
        names.map(lambda n: f"ns/{n}"),
        st.integers(1, 255),
        st.just("FailJob"),
        st.integers(0, 19),
    )
    | st.builds(
        ConditionMatched,
        names.map(lambda n: f"ns/{n}"),
        st.just("DisruptionTarget"),
        st.just("FailJob"),
        st.integers(0, 19),
    )
)
def test_failure_policy_texts_round_trip(match):
    assert parse_policy_match(format_policy_match(match)) == match


@given(
    st.lists(st.builds(BelowUsage, counts, counts, st.none() | names), min_size=1, max_size=3, unique=True)
)
def test_resize_errors_round_trip(problems):
    assert parse_below_usage(format_below_usage(tuple(problems))) == tuple(problems)


@given(names, counts, counts)
def test_budget_causes_round_trip(budget, needs, has):
    assert parse_budget_cause(format_budget_cause(budget, needs, has)) == (budget, needs, has)


@given(names, names)
def test_preemption_events_round_trip(uid, node):
    assert parse_preempted_event(format_preempted_event(uid, node)) == (uid, node)


@given(names, names, st.booleans())
def test_taint_events_round_trip(namespace, name, spared):
    pod = f"{namespace}/{name}"
    assert parse_taint_event(format_taint_event(pod, spared=spared)) == (pod, spared)


def test_taint_events_read_as_the_controller_writes_them():
    assert format_taint_event("ns/p") == "Marking for deletion Pod ns/p"
    assert parse_taint_event("Cancelling deletion of Pod ns/p") == ("ns/p", True)
    assert parse_taint_event("Marking for deletion Node n") is None


def test_a_node_says_what_it_tries_to_reclaim():
    assert format_reclaiming("memory") == "Attempting to reclaim memory"
    assert parse_reclaiming("Attempting to reclaim ephemeral-storage") == "ephemeral-storage"
    assert parse_reclaiming("Node is healthy") is None


@given(st.integers(0, 19))
def test_success_rules_round_trip(rule):
    assert parse_success_rule(format_success_rule(rule)) == rule


def test_a_current_memory_eviction_is_read():
    text = (
        "The node was low on resource: memory. Threshold quantity: 200Mi, available: 151920Ki. "
        "Container trainer was using 8123456Ki, request is 4Gi, has larger consumption of memory. "
    )
    assert parse_eviction(text) == NodeLow(
        "memory", "200Mi", "151920Ki", (Offender("trainer", "8123456Ki", "4Gi"),)
    )


@pytest.mark.parametrize(
    ("text", "low"),
    [
        (
            "The node was low on resource: memory. "
            "Container c was using 2Gi, which exceeds its request of 0. Container d was using 5Mi, "
            "which exceeds its request of 1Mi. ",
            NodeLow("memory", None, None, (Offender("c", "2Gi", "0"), Offender("d", "5Mi", "1Mi")), True),
        ),
        ("The node was low on resource: ephemeral-storage. ", NodeLow("ephemeral-storage")),
        ("The node was low on resource: [DiskPressure].", NodeLow("[DiskPressure]")),
    ],
)
def test_old_kubelets_are_understood(text, low):
    assert parse_eviction(text) == low


def test_a_rejection_is_read_with_either_prefix_and_with_none():
    conditions = NodeHadCondition(("DiskPressure",))
    for prefix in ("Pod was rejected: ", "Pod ", ""):
        assert parse_rejection("Evicted", f"{prefix}The node had condition: [DiskPressure]. ") == conditions
    old = "Pod Node didn't have enough resource: cpu, requested: 1, used: 2, capacity: 3"
    assert parse_rejection("OutOfcpu", old) == OutOf("cpu", 1, 2, 3)


@pytest.mark.parametrize(
    "text", ["", "OOMKilled", "The node was low on", "The node was low on resource: memory. and more"]
)
def test_other_texts_are_not_evictions(text):
    assert parse_eviction(text) is None


def test_a_plain_failure_is_not_a_rejection():
    assert parse_rejection("", "") is None
    assert (
        parse_rejection("DeadlineExceeded", "Pod was active on the node longer than the specified deadline")
        is None
    )


def test_a_resize_event_carries_the_sizes_as_json():
    pod = a_pod("p", a_container(requests={"memory": "1Gi", "cpu": "1"}, limits={"memory": "2Gi"}))
    text = format_resize_event("started", pod, 2)
    assert text == (
        'Pod resize started: {"containers":[{"name":"c","resources":{"limits":{"memory":"2Gi"},'
        '"requests":{"cpu":"1","memory":"1Gi"}}}],"generation":2}'
    )
    what, summary = parse_resize_event(text)
    assert (what, summary["generation"]) == ("started", 2)
    assert parse_resize_event("Pod resize started: {oops") is None


def test_old_preemption_events_are_read():
    assert parse_preempted_event("Preempted by team/job-0 on node n") == ("team/job-0", "n")
    assert parse_preempted_event("Preempted by a pod on node n") == ("", "n")
