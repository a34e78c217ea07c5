"""What a node keeps back, and when it calls itself short."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tonnage.cluster.node.allocatable import kubepods_memory_limit, node_allocatable, pod_capacity
from tonnage.cluster.node.thresholds import (
    Amount,
    Signal,
    ThresholdError,
    hard_settings,
    parse_duration,
    parse_thresholds,
)
from tonnage.units import parse_quantity, quantity_of

CAPACITY = {"cpu": "8", "memory": "64Gi", "ephemeral-storage": "100Gi", "pods": "110"}


def test_a_bare_kubelet_keeps_back_the_hard_thresholds_only():
    left = node_allocatable(CAPACITY)
    assert left["memory"] == "65436Mi"  # 64Gi - 100Mi
    assert left["cpu"] == "8"
    # 10 % as a 32-bit float is a little more than a tenth.
    assert parse_quantity(left["ephemeral-storage"]).value() == 100 * 2**30 - 10737418400


def test_reservations_add_up_and_never_go_below_zero():
    left = node_allocatable(
        CAPACITY,
        kube_reserved={"memory": "1Gi", "cpu": "500m"},
        system_reserved={"memory": "70Gi", "cpu": "100m"},
        eviction_hard={"memory.available": "1Gi"},
    )
    assert (left["memory"], left["cpu"], left["ephemeral-storage"]) == ("0", "7400m", "100Gi")


def test_huge_pages_come_out_of_memory_once_more():
    left = node_allocatable({**CAPACITY, "hugepages-2Mi": "4Gi"}, eviction_hard={"memory.available": "1Gi"})
    assert (left["memory"], left["hugepages-2Mi"]) == ("59Gi", "4Gi")


def test_devices_are_those_the_plugin_calls_healthy():
    left = node_allocatable({**CAPACITY, "nvidia.com/gpu": "8"}, devices={"nvidia.com/gpu": "7"})
    assert left["nvidia.com/gpu"] == "7"


def test_the_wall_around_all_pods_leaves_out_the_eviction_threshold():
    assert kubepods_memory_limit(CAPACITY, {"memory": "1Gi"}, {"memory": "3Gi"}) == 60 * 2**30


def test_pods_per_core_only_lowers_the_number_of_pods():
    assert (pod_capacity(4), pod_capacity(4, pods_per_core=10), pod_capacity(40, pods_per_core=10)) == (
        110,
        40,
        110,
    )


def test_a_partly_given_eviction_hard_drops_the_other_defaults():
    assert hard_settings({"memory.available": "1Gi"}) == {"memory.available": "1Gi"}
    assert len(hard_settings({"memory.available": "1Gi"}, merge_defaults=True)) == 5
    assert len(hard_settings(None)) == 5


def test_the_hard_memory_threshold_is_watched_for_all_pods_together_too():
    found = parse_thresholds({"memory.available": "1Gi", "nodefs.available": "10%"})
    assert [t.signal for t in found] == [Signal.MEMORY, Signal.NODEFS, Signal.ALLOCATABLE_MEMORY]


def test_zero_and_hundred_percent_switch_a_signal_off():
    assert parse_thresholds({"memory.available": "0%", "nodefs.available": "100%"}) == ()


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"disk.available": "1Gi"}, "unsupported eviction signal disk.available"),
        ({"memory.available": "-1Gi"}, "eviction threshold memory.available must be positive: -1Gi"),
        (
            {"memory.available": "101%"},
            "eviction percentage threshold memory.available must be <= 100%: 101%",
        ),
        ({"memory.available": "-1%"}, "eviction percentage threshold memory.available must be >= 0%: -1%"),
        ({"memory.available": "x%"}, 'strconv.ParseFloat: parsing "x": invalid syntax'),
    ],
)
def test_a_bad_threshold_gets_the_kubelets_words(settings, text):
    with pytest.raises(ThresholdError) as caught:
        parse_thresholds(settings)
    assert str(caught.value) == text


def test_a_soft_threshold_needs_a_grace_period():
    with pytest.raises(
        ThresholdError, match="grace period must be specified for the soft eviction threshold"
    ):
        parse_thresholds({}, soft={"memory.available": "1Gi"})
    soft = parse_thresholds({}, soft={"memory.available": "1Gi"}, soft_grace={"memory.available": "1m30s"})
    assert (soft[0].grace_seconds, soft[0].is_hard) == (90.0, False)


@pytest.mark.parametrize(
    ("text", "seconds"), [("10s", 10), ("1h1m", 3660), ("500ms", 0.5), ("0", 0), ("1.5s", 1.5)]
)
def test_go_durations_are_read(text, seconds):
    assert parse_duration(text) == pytest.approx(seconds)


@given(st.integers(1, 99), st.integers(0, 2**50))
def test_a_percentage_is_a_share_of_capacity_within_float_precision(percent, capacity):
    (threshold,) = parse_thresholds({"nodefs.available": f"{percent}%"}, enforce_pods=False)
    share = threshold.value.of(quantity_of(capacity)).value()
    assert abs(share - capacity * percent / 100) <= capacity * 1e-7 + 1


def test_an_amount_is_the_same_for_any_capacity():
    assert Amount(quantity=parse_quantity("1Gi")).of(quantity_of(5)) == parse_quantity("1Gi")
