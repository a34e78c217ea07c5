"""A node's price: the document's, else the table's with its date, else none."""

from __future__ import annotations

import datetime as dt

import pytest
from cost_nodes import a_node

from tonnage.cluster.gpus import find_gpu
from tonnage.cluster.objects import Node
from tonnage.cost.catalogue import Row, checked
from tonnage.cost.price import Price
from tonnage.cost.pricing import is_spot, price_of_node, why_no_price
from tonnage.cost.table import listings, newest
from tonnage.kube.decoding import decode_object
from tonnage.spec.cluster import Cluster
from tonnage.spec.cluster_nodes import nodes_of


def test_a_price_that_somebody_said_wins_over_the_table() -> None:
    price = price_of_node(a_node("p5.48xlarge", price="$98/hour"))

    assert price == Price(low=98_000_000, high=98_000_000, origin="Cluster document")


def test_a_machine_of_the_table_has_its_list_price_with_its_date() -> None:
    price = price_of_node(a_node("p5.48xlarge"))

    assert price is not None
    assert str(price) == "$55.04/h"
    assert price.origin_text() == "AWS list price of p5.48xlarge, 2026-08-21"


@pytest.mark.parametrize(
    "labels",
    [
        {"karpenter.sh/capacity-type": "spot"},
        {"eks.amazonaws.com/capacityType": "SPOT"},
        {"cloud.google.com/gke-spot": "true"},
        {"kubernetes.azure.com/scalesetpriority": "spot"},
    ],
)
def test_a_node_that_can_be_taken_back_has_the_spot_price_as_a_range(labels: dict[str, str]) -> None:
    node = a_node("p5.48xlarge", **labels)
    price = price_of_node(node)

    assert is_spot(node)
    assert price is not None
    assert (price.low, price.high) == (19_970_000, 20_640_000)
    assert "spot price" in price.origin


def test_a_node_elsewhere_says_that_the_price_is_american() -> None:
    price = price_of_node(a_node("p5.48xlarge", **{"topology.kubernetes.io/region": "eu-west-1"}))

    assert price is not None
    assert price.note == "US price; the node is in eu-west-1"


def test_a_row_that_is_no_longer_updated_says_so() -> None:
    price = price_of_node(a_node("Standard_ND96isr_H100_v5", **{"topology.kubernetes.io/region": "eastus"}))

    assert price is not None
    assert price.note == "no longer updated"
    assert price.as_of == dt.date(2025, 9, 11)


@pytest.mark.parametrize("machine", ["", "m7i.4xlarge", "my-server"])
def test_a_machine_nobody_knows_has_no_price_and_a_reason(machine: str) -> None:
    node = a_node(machine)

    assert price_of_node(node) is None
    assert "no price in a Cluster document" in why_no_price(node)


def test_a_price_that_cannot_be_read_falls_through_to_the_table() -> None:
    price = price_of_node(a_node("g5.xlarge", price="cheap"))

    assert price is not None
    assert price.low == 1_006_000


def test_prices_by_pool_can_be_given_apart() -> None:
    given = Price(low=5, high=5, origin="price file")

    assert price_of_node(a_node("my-server", **{"tonnage.dev/pool": "lab"}), {"lab": given}) == given


def test_the_price_of_a_cluster_document_reaches_its_nodes() -> None:
    cluster = Cluster.model_validate(
        {
            "metadata": {"name": "lab"},
            "spec": {
                "pools": [
                    {"name": "big", "gpus": "8 x h100", "price": "$98/hour"},
                    {"name": "each", "gpus": "4 x a100-80", "price": {"gpu": "$3..5/hour"}},
                    {"name": "cloud", "gpus": "8 x h200", "instance": "p5en.48xlarge"},
                    {"name": "own", "gpus": "8 x l4"},
                ]
            },
        }
    )
    prices = [price_of_node(decode_object(node, Node)) for node in nodes_of(cluster)]

    assert [str(price) for price in prices] == ["$98.00/h", "$12.00..20.00/h", "$63.30/h", "None"]


def test_the_built_in_table_passes_its_own_validator() -> None:
    rows = [
        Row(
            cloud=listing.cloud,
            machine=listing.machine,
            region="us",
            gpu=listing.gpu,
            gpus=listing.gpus,
            price=listing.on_demand,
            spot=listing.spot_low if listing.spot_low != listing.on_demand else None,
            updated=listing.as_of,
        )
        for listing in listings().values()
    ]
    found = checked(rows)

    assert {complaint.code for complaint in found.complaints} == {"stale"}
    assert all(complaint.row.cloud in ("azure", "oci") for complaint in found.complaints)


def test_every_machine_of_the_table_has_a_gpu_we_know_and_a_sane_spot_price() -> None:
    for listing in listings().values():
        assert find_gpu(listing.gpu) is not None, listing.machine
        if listing.spot_low is not None and listing.spot_high is not None:
            assert 0 < listing.spot_low <= listing.spot_high < listing.on_demand
        assert listing.as_of <= newest()
