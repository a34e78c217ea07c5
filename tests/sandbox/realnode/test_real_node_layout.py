"""Nothing two nodes make has the same name or address, in one sandbox or in two."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tonnage.sandbox.realnode.layout import MAX_NODES, NODE_NETWORK, POD_NETWORK, RealNode, Wire, plan_nodes

places = st.tuples(st.integers(1, 250), st.integers(1, MAX_NODES))


def a_node(number: int, index: int) -> RealNode:
    nodes = plan_nodes(Wire(number=number, sandbox_id=f"{number:03x}456789abc"), index, Path("/nodes"))
    return nodes[-1]


@given(places, places)
def test_two_nodes_share_no_address_link_or_cgroup(one: tuple[int, int], other: tuple[int, int]) -> None:
    a, b = a_node(*one), a_node(*other)
    is_same = one == other

    assert (a.address == b.address) is is_same
    assert (a.link == b.link) is is_same
    assert (a.cgroup == b.cgroup) is is_same
    assert a.pod_subnet.overlaps(b.pod_subnet) is is_same


@given(places)
def test_every_node_fits_what_the_kernel_and_the_address_plan_allow(place: tuple[int, int]) -> None:
    node = a_node(*place)

    assert len(node.link) <= 15
    assert len(node.wire.bridge) <= 15
    assert node.pod_subnet.subnet_of(POD_NETWORK)
    assert node.wire.subnet.subnet_of(NODE_NETWORK)
    assert node.address in node.wire.subnet
    assert node.pod_gateway in node.pod_subnet
    assert node.wire.host_address != node.address


def test_the_example_in_the_essay_is_true() -> None:
    node = a_node(3, 2)

    assert str(node.wire.host_address) == "10.245.3.1"
    assert (str(node.address), str(node.pod_subnet)) == ("10.245.3.12", "10.224.49.0/24")
