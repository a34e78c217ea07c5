"""What runs cost, what deaths cost, how often to save, and whether spot pays."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tonnage.cluster.gpus import GPU_TYPES, find_gpu
from tonnage.cost.parts import gpu_price, idle_price, share_price, slice_price, slice_share
from tonnage.cost.price import Price
from tonnage.cost.running import Span, cost_of_run, price_of_death, price_of_stranded, work_at_risk
from tonnage.cost.saving import (
    daly_interval,
    mean_of_gang,
    slowdown,
    spot_pays,
    young_interval,
)

HOUR = 3600.0
H100 = Price(low=6_880_000, high=6_880_000, per="gpu")


def test_a_run_costs_its_hours_at_both_ends_of_the_price() -> None:
    cost = cost_of_run(
        Price(low=60_000_000, high=62_000_000),
        seconds=(27 * HOUR, 31 * HOUR, 36 * HOUR),
        deadline_seconds=48 * HOUR,
    )

    assert cost.total == Span(1_620_000_000, 1_891_000_000, 2_232_000_000)
    assert cost.to_deadline == 2_976_000_000


def test_a_run_of_unknown_length_has_no_total() -> None:
    assert cost_of_run(H100).total is None


def test_a_death_at_nine_tenths_costs_nine_tenths_where_nothing_is_kept() -> None:
    assert price_of_death(Span(1000, 2000, 3000)) == Span(900, 1800, 2700)
    assert price_of_death(Span(1000, 2000, 3000), kept=0.95) == Span(0, 0, 0)


def test_work_at_risk_is_one_interval_and_the_save_that_did_not_end() -> None:
    assert (
        work_at_risk(Price(low=60_000_000, high=60_000_000), interval_seconds=5760, save_seconds=240)
        == 100_000_000
    )


def test_stranded_gpus_cost_what_gpus_cost() -> None:
    assert str(price_of_stranded(H100, 6)) == "$41.28/h"


@pytest.mark.parametrize(
    ("mean_h", "save_min", "restart_min", "interval_min", "factor", "factor_at_3_h"),
    [
        (1.5, 2, 12, 18, 1.42, 3.75),
        (4.3, 2, 12, 31, 1.19, 1.54),
        (10.4, 2, 12, 49, 1.11, 1.20),
        (24, 5, 20, 117, 1.10, 1.11),
    ],
)
def test_intervals_and_slowdowns_are_those_of_the_worked_example(
    mean_h: float,
    save_min: float,
    restart_min: float,
    interval_min: float,
    factor: float,
    factor_at_3_h: float,
) -> None:
    mean = mean_h * 60
    best = daly_interval(save_min, mean)

    assert best == pytest.approx(interval_min, abs=0.6)
    assert slowdown(best, save_min, restart_min, mean) == pytest.approx(factor, abs=0.006)
    assert slowdown(180, save_min, restart_min, mean) == pytest.approx(factor_at_3_h, abs=0.006)


@given(st.floats(0.01, 60), st.floats(1, 100_000), st.floats(0.2, 5))
def test_dalys_interval_is_close_to_the_best_one_where_saving_is_cheap(
    save: float, mean: float, other: float
) -> None:
    if save > mean / 20:
        return
    best = daly_interval(save, mean)

    assert slowdown(best, save, 0.0, mean) <= slowdown(best * other, save, 0.0, mean) * 1.002


@given(st.floats(0.01, 1000), st.floats(0.01, 100_000))
def test_intervals_are_positive_and_finite(save: float, mean: float) -> None:
    for interval in (
        young_interval(save, mean),
        daly_interval(save, mean),
    ):
        assert interval > 0
        assert math.isfinite(interval)


def test_a_gang_is_interrupted_as_often_as_it_has_nodes() -> None:
    assert mean_of_gang(24, 8) == 3


def test_a_run_that_never_gets_to_save_takes_for_ever() -> None:
    assert slowdown(100_000, 1, 1, 1) == math.inf
    assert slowdown(0, 1, 1, 1) == math.inf


def test_spot_pays_on_p5_and_loses_on_p4d_when_interrupted_often() -> None:
    often = slowdown(daly_interval(2, 90), 2, 12, 90)

    assert spot_pays(20_640_000, 55_040_000, often)
    assert not spot_pays(16_440_000, 21_960_000, often)


@pytest.mark.parametrize("gpu", [gpu for gpu in GPU_TYPES if gpu.mig], ids=lambda gpu: gpu.name)
def test_slices_of_one_kind_never_cost_more_than_their_gpu(gpu) -> None:  # type: ignore[no-untyped-def]
    for profile in gpu.mig:
        share = slice_share(gpu, profile)
        assert 0 < share <= 1
        assert profile.most * share <= 1
        assert slice_price(H100, gpu, profile).low * profile.most <= H100.low


def test_a_slice_costs_the_larger_of_its_compute_and_its_memory() -> None:
    h100 = find_gpu("h100")
    assert h100 is not None
    profile = h100.mig_profile("3g.40gb")
    assert profile is not None

    assert str(slice_price(H100, h100, profile)) == "$3.44/h"


def test_half_a_gpu_leaves_half_of_it_idle_and_shares_divide_it() -> None:
    assert str(idle_price(H100, 500)) == "$3.44/h"
    assert idle_price(H100, 1000).high == 0
    assert str(share_price(H100, 4)) == "$1.72/h"


def test_a_gpu_costs_its_part_of_the_node_and_a_node_without_any_has_no_such_price() -> None:
    node = Price(low=55_040_000, high=55_040_000, origin="AWS")

    part = gpu_price(node, 8)
    assert part is not None
    assert (part.low, part.per, part.origin) == (6_880_000, "gpu", "AWS")
    assert gpu_price(node, 0) is None
