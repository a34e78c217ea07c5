"""A node's price is split without losing or inventing a micro-dollar."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from tonnage.cost.splitting import Amounts, Mode, split_node

GIB = 1024**3
P5 = Amounts(gpu=8000, cpu=192_000, memory=2048 * GIB)
MODES: tuple[Mode, ...] = ("gpu-dominant", "opencost")

nodes = st.builds(
    Amounts,
    gpu=st.sampled_from([0, 1000, 4000, 8000]),
    cpu=st.integers(1000, 256_000),
    memory=st.integers(GIB, 4096 * GIB),
)
pods = st.lists(
    st.builds(
        Amounts, gpu=st.sampled_from([0, 250, 1000, 8000]), cpu=st.integers(0, 200_000),
        memory=st.integers(0, 2048 * GIB),
    ),
    max_size=12,
)  # fmt: skip


@given(st.integers(0, 10**9), nodes, pods, st.sampled_from(MODES))
def test_charges_and_idle_sum_to_the_price_of_the_node(
    price: int, node: Amounts, on_it: list[Amounts], mode: Mode
) -> None:
    split = split_node(price, node, on_it, mode)

    assert split.total == price
    assert split.idle >= 0
    assert all(charge >= 0 for charge in split.charges)


@given(st.integers(0, 10**9), nodes, pods)
def test_a_pod_never_pays_more_than_its_largest_share(
    price: int, node: Amounts, on_it: list[Amounts]
) -> None:
    split = split_node(price, node, on_it)

    for pod, charge in zip(on_it, split.charges, strict=True):
        parts = [Fraction(pod.of(name), node.of(name)) for name in ("gpu", "cpu", "memory") if node.of(name)]
        assert charge <= price * max(parts) + 1


@given(st.integers(1, 10**9), nodes, pods, st.sampled_from(MODES))
def test_a_node_that_is_more_than_full_has_no_idle_part(
    price: int, node: Amounts, on_it: list[Amounts], mode: Mode
) -> None:
    split = split_node(price, node, [*on_it, node], mode)

    assert split.idle == 0


def test_one_gpu_of_eight_pays_an_eighth_however_little_else_it_uses() -> None:
    pod = Amounts(gpu=1000, cpu=4000, memory=16 * GIB)

    assert split_node(55_040_000, P5, [pod]).charges == (6_880_000,)
    assert round(split_node(55_040_000, P5, [pod], "opencost").charges[0], -4) == 2_820_000


def test_a_pod_that_takes_all_the_memory_pays_for_all_of_the_node() -> None:
    greedy = Amounts(gpu=1000, cpu=8000, memory=2048 * GIB)

    assert split_node(55_040_000, P5, [greedy]).charges == (55_040_000,)


def test_a_node_without_gpus_is_split_by_cores_and_memory() -> None:
    node = Amounts(cpu=16_000, memory=64 * GIB)

    assert split_node(1_000_000, node, [Amounts(cpu=8000, memory=GIB)]).charges == (500_000,)
