"""Node shapes: what people type becomes the node a cluster would show, and mistakes are named."""

from __future__ import annotations

import re
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tonnage.cluster.gpus import GPU_TYPES
from tonnage.cluster.shapes import node_from_shape, nodes_from_shapes, parse_node_shapes
from tonnage.errors import UsageError
from tonnage.units import parse_quantity


def the_shape(text: str):
    ((shape, _),) = parse_node_shapes(text)
    return shape


def the_node(text: str) -> dict:
    return node_from_shape(the_shape(text), "n")


def the_labels(text: str) -> dict[str, str]:
    return the_node(text)["metadata"]["labels"]


def the_problems(text: str) -> str:
    with pytest.raises(UsageError) as refused:
        parse_node_shapes(text)
    return str(refused.value)


def test_groups_are_read_in_order_with_their_counts() -> None:
    groups = parse_node_shapes("8xh100=50,8xa100-80=20,cpu=10")

    assert [(shape.name, shape.gpus, count) for shape, count in groups] == [
        ("8xh100", 8, 50),
        ("8xa100-80", 8, 20),
        ("cpu", 0, 10),
    ]


def test_a_gpu_node_announces_what_gpu_feature_discovery_would() -> None:
    labels = the_labels("8xh100")

    assert labels["nvidia.com/gpu.product"] == "NVIDIA-H100-80GB-HBM3"
    assert labels["nvidia.com/gpu.count"] == "8"
    assert labels["nvidia.com/gpu.memory"] == "81559"
    assert labels["nvidia.com/gpu.family"] == "hopper"
    assert labels["nvidia.com/gpu.compute.major"] == "9"
    assert labels["nvidia.com/gpu.present"] == "true"


def test_a_gpu_node_keeps_pods_without_gpus_away_and_a_cpu_node_does_not() -> None:
    taint = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}

    assert the_node("8xh100")["spec"]["taints"] == [taint]
    assert "taints" not in the_node("cpu")["spec"]
    assert "taints" not in the_node("8xh100+taint=none")["spec"]


def test_a_free_shape_has_just_what_it_says() -> None:
    node = the_node(
        "big+gpus=8xh200+cpu=192+memory=2Ti+disk=8Ti+label=team=a+taint=k=v:NoExecute+zone=eu-1a+spot"
    )
    capacity, labels = node["status"]["capacity"], node["metadata"]["labels"]

    assert parse_quantity(capacity["memory"]) == parse_quantity("2Ti")
    assert parse_quantity(capacity["ephemeral-storage"]) == parse_quantity("8Ti")
    assert (capacity["cpu"], capacity["nvidia.com/gpu"]) == ("192", "8")
    assert (labels["team"], labels["topology.kubernetes.io/zone"]) == ("a", "eu-1a")
    assert labels["karpenter.sh/capacity-type"] == "spot"
    assert {"key": "k", "value": "v", "effect": "NoExecute"} in node["spec"]["taints"]


def test_sizes_override_what_comes_with_the_gpus_whatever_the_order() -> None:
    assert the_shape("big+memory=1Ti+gpus=8xh100").memory == 1024**4
    assert the_shape("big+gpus=8xh100+memory=1Ti").memory == 1024**4


def test_one_mig_profile_is_offered_as_whole_gpus() -> None:
    node = the_node("8xa100-80+mig=1g.10gb")

    assert node["status"]["capacity"]["nvidia.com/gpu"] == "56"
    assert node["metadata"]["labels"]["nvidia.com/gpu.product"] == "NVIDIA-A100-SXM4-80GB-MIG-1g.10gb"
    assert node["metadata"]["labels"]["nvidia.com/mig.strategy"] == "single"


def test_a_mixed_cut_offers_each_profile_under_its_own_name() -> None:
    node = the_node("2xa100-80+mig=1x3g.40gb/4x1g.10gb")
    capacity = node["status"]["capacity"]

    assert capacity["nvidia.com/mig-3g.40gb"] == "2"
    assert capacity["nvidia.com/mig-1g.10gb"] == "8"
    assert "nvidia.com/gpu" not in capacity
    assert node["metadata"]["labels"]["nvidia.com/mig-1g.10gb.count"] == "8"


def test_shared_gpus_are_counted_once_and_offered_often() -> None:
    node = the_node("4xl4+shared=4")
    labels = node["metadata"]["labels"]

    assert node["status"]["capacity"]["nvidia.com/gpu"] == "16"
    assert (labels["nvidia.com/gpu.count"], labels["nvidia.com/gpu.replicas"]) == ("4", "4")
    assert labels["nvidia.com/gpu.product"] == "NVIDIA-L4-SHARED"
    assert the_labels("4xl4+mps=4")["nvidia.com/gpu.sharing-strategy"] == "mps"


def test_nodes_take_turns_over_their_zones() -> None:
    nodes = list(nodes_from_shapes(parse_node_shapes("cpu=4+zone=eu-1a/eu-1b")))

    zones = [node["metadata"]["labels"]["topology.kubernetes.io/zone"] for node in nodes]
    assert zones == ["eu-1a", "eu-1b", "eu-1a", "eu-1b"]


def test_names_sort_as_they_count_and_never_repeat() -> None:
    names = [node["metadata"]["name"] for node in nodes_from_shapes(parse_node_shapes("cpu=12,cpu=2+spot"))]

    assert names[:12] == sorted(names[:12])
    assert len(set(names)) == 14


def test_every_mistake_is_reported_at_once() -> None:
    said = the_problems("8xh10=2,cpu=many,cpu+memry=2Gi")

    assert "did you mean h100" in said
    assert "'many'" in said
    assert "did you mean memory?" in said


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "without a name"),
        ("8xh100=0", "a whole number from 1"),
        ("8xh100=-1", "a whole number from 1"),
        ("99xh100", "a whole number from 1 up to 16"),
        ("cpu=5001", "at most 5,000 nodes"),
        ("mine", "your own name with +cpu="),
        ("Mine+cpu=2", "lower-case"),
        ("cpu+memory=lots", "at least 1Mi"),
        ("cpu+memory=-5Gi", "at least 1Mi"),
        ("cpu+shared=2", "shares none"),
        ("t4+mig=1g.5gb", "cannot be cut"),
        ("a100-80+mig=9g.99gb", "one of 1g.10gb"),
        ("a100-80+mig=2x3g.40gb/1x1g.10gb", "does not fit one GPU"),
        ("cpu+taint=a=b", "KEY=VALUE:EFFECT"),
        ("cpu+label=a b=c", "not a Kubernetes label"),
        ("cpu+zone=", "an empty zone"),
        ("cpu+spot=maybe", "just +spot"),
        ("cpu+instance=", "like p5.48xlarge"),
        ("cpu+gpus=8xh1", "unknown GPU type"),
    ],
)
def test_what_makes_no_sense_says_what_would(text: str, expected: str) -> None:
    assert expected in the_problems(text)


GROUPS = st.builds(
    lambda count, gpu, nodes: f"{count}x{gpu.name}={nodes}",
    st.integers(1, 16),
    st.sampled_from(GPU_TYPES),
    st.integers(1, 50),
)


@given(st.lists(GROUPS, min_size=1, max_size=5))
def test_no_node_offers_more_than_it_has(groups: list[str]) -> None:
    for node in nodes_from_shapes(parse_node_shapes(",".join(groups))):
        capacity, allocatable = node["status"]["capacity"], node["status"]["allocatable"]
        assert capacity.keys() == allocatable.keys()
        assert all(parse_quantity(allocatable[key]) <= parse_quantity(capacity[key]) for key in capacity)
        assert all(
            re.fullmatch(r"[A-Za-z0-9_.-]{0,63}", value) for value in node["metadata"]["labels"].values()
        )


@given(st.text(alphabet="8xh100=,+cpu migtaint:/.-GT", max_size=40))
def test_no_text_breaks_the_reader(text: str) -> None:
    with suppress(UsageError):
        parse_node_shapes(text)
