"""Every trap that the public catalogue was found to set, one test each."""

from __future__ import annotations

import datetime as dt
from typing import Any

from tonnage.cost.catalogue import Checked, Row, checked

TODAY = dt.date(2026, 8, 22)
OLD = dt.date(2025, 9, 11)
FRESH = Row(
    cloud="aws",
    machine="p5.48xlarge",
    region="us-east-1",
    gpu="h100",
    gpus=8,
    price=55_040_000,
    updated=TODAY,
)


def a_row(**other: Any) -> Row:
    values: dict[str, Any] = {
        "cloud": "x", "machine": "m", "region": "us", "gpu": "h100", "gpus": 8, "price": 30_000_000, "updated": TODAY,
    }  # fmt: skip
    return Row(**(values | other))


def codes(found: Checked) -> list[str]:
    return [complaint.code for complaint in found.complaints]


def test_a_good_row_is_kept_as_it_is() -> None:
    assert checked([FRESH]) == Checked((FRESH,), ())


def test_a_cloud_that_is_no_longer_updated_is_dropped_with_its_tempting_spot_price() -> None:
    azure = a_row(
        cloud="azure",
        machine="NC24ads_A100_v4",
        gpu="a100-80",
        gpus=1,
        price=3_670_000,
        spot=400_000,
        updated=OLD,
    )
    found = checked([FRESH, azure])

    assert found.rows == (FRESH,)
    assert codes(found) == ["stale"]


def test_a_spot_price_equal_to_the_list_price_is_none() -> None:
    found = checked([a_row(cloud="runpod", spot=30_000_000)])

    assert found.rows[0].spot is None
    assert codes(found) == ["spot-is-not-cheaper"]


def test_a_machine_with_twelve_gpus_is_not_sold() -> None:
    found = checked([a_row(cloud="azure", machine="ND96isr_H100_v5", gpus=12)])

    assert found.rows == ()
    assert codes(found) == ["gpu-count"]


def test_a_machine_and_its_gpus_listed_apart_are_added_up() -> None:
    machine = a_row(
        cloud="gcp", machine="a2-highgpu-8g", gpu="", gpus=0, price=4_000_000, spot=1_000_000, is_part=True
    )
    gpus = a_row(
        cloud="gcp", machine="a2-highgpu-8g", gpu="a100-40", price=25_390_000, spot=15_830_000, is_part=True
    )
    found = checked([machine, gpus])

    assert [(row.price, row.spot, row.gpus) for row in found.rows] == [(29_390_000, 16_830_000, 8)]
    assert found.complaints == ()


def test_a_machine_listed_at_nothing_is_paid_for_with_its_gpus() -> None:
    machine = a_row(cloud="gcp", machine="a4-highgpu-8g", gpu="", gpus=0, price=0, is_part=True)
    gpus = a_row(cloud="gcp", machine="a4-highgpu-8g", gpu="b200", price=90_220_000, is_part=True)

    assert [row.price for row in checked([machine, gpus]).rows] == [90_220_000]


def test_gpus_listed_at_nothing_have_no_price() -> None:
    machine = a_row(
        cloud="gcp", machine="a3-ultragpu-8g", gpu="", gpus=0, price=9_000_000, zone="z", is_part=True
    )
    gpus = a_row(cloud="gcp", machine="a3-ultragpu-8g", gpu="h200", price=0, zone="z", is_part=True)
    found = checked([machine, gpus])

    assert found.rows == ()
    assert codes(found) == ["no-price"]


def test_gpus_without_their_machine_are_half_a_price() -> None:
    found = checked([a_row(cloud="gcp", machine="n1", is_part=True)])

    assert found.rows == ()
    assert codes(found) == ["half-a-machine"]


def test_a_spot_price_of_zero_is_a_missing_one() -> None:
    found = checked([a_row(cloud="vast", spot=0)])

    assert found.rows[0].spot is None
    assert codes(found) == ["spot-zero"]


def test_an_a100_for_a_cent_is_a_placeholder() -> None:
    found = checked([a_row(cloud="mithril", gpu="a100-80", gpus=1, price=10_000)])

    assert found.rows == ()
    assert codes(found) == ["absurd-price"]


def test_a_discount_no_market_ever_gave_is_not_believed() -> None:
    assert codes(checked([a_row(spot=300_000)])) == ["spot-absurd"]


def test_gpu_memory_is_ours_where_the_catalogue_has_it_wrong() -> None:
    found = checked(
        [a_row(gpu="h200", gpu_memory_gib=80.0), a_row(machine="n", gpu="h100", gpu_memory_gib=80.0)]
    )

    assert [round(row.gpu_memory_gib or 0) for row in found.rows] == [140, 80]
    assert codes(found) == ["gpu-memory"]


def test_nothing_in_nothing_out() -> None:
    assert checked([]) == Checked((), ())
