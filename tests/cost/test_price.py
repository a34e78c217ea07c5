"""Prices are exact, keep both ends of a range, and say who says so."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tonnage.cost.price import Price, parse_price, spanned
from tonnage.figures import MICRO, dollars
from tonnage.spec.literals import Money


@pytest.mark.parametrize(
    ("micro", "text"),
    [
        (61_200_000, "$61.20"),
        (6_880_000, "$6.88"),
        (999_499_999, "$999.50"),
        (999_999_999, "$1,000"),
        (1_900_000_000, "$1,900"),
        (124_000_400_000, "$124,000"),
        (2_100, "$0.0021"),
        (1, "$0.000001"),
        (0, "$0.00"),
        (-3_440_000, "-$3.44"),
    ],
)
def test_amounts_are_written_as_people_write_them(micro: int, text: str) -> None:
    assert dollars(micro) == text


def test_a_price_by_the_hour_reads_as_one() -> None:
    assert str(Price(low=61_200_000, high=61_200_000)) == "$61.20/h"
    assert str(Price(low=3_000_000, high=5_000_000)) == "$3.00..5.00/h"


def test_the_origin_of_a_price_carries_its_date_and_what_to_mind() -> None:
    price = Price(low=1, high=1, origin="AWS list price", as_of=dt.date(2026, 8, 21), note="US price")

    assert price.origin_text() == "AWS list price, 2026-08-21 (US price)"


@pytest.mark.parametrize("low, high", [(-1, 5), (5, 4)])  # noqa: PT006 - reads as a range
def test_a_price_below_nothing_or_upside_down_cannot_be_made(low: int, high: int) -> None:
    with pytest.raises(ValueError, match="a price from"):
        Price(low=low, high=high)


money = st.builds(
    lambda low, more, per: Money(low, low + more, per),
    st.integers(0, 10**12),
    st.integers(0, 10**12),
    st.sampled_from([None, "hour", "day", "week", "month"]),
)


@given(money)
def test_a_price_is_read_exactly_as_documents_write_it(said: Money) -> None:
    price = parse_price(str(said), origin="you")

    hours = {None: 1, "hour": 1, "day": 24, "week": 168, "month": 730}[said.per]
    assert price is not None
    assert price.low <= said.low / hours < price.low + 1
    assert price.high - 1 < said.high / hours <= price.high


@pytest.mark.parametrize("text", ["98", "98/hour", "$98/year", "free", "", "$5..3/hour", "$-1/hour"])
def test_what_is_no_price_is_not_read_as_one(text: str) -> None:
    assert parse_price(text, origin="you") is None


@given(st.integers(0, 10**12), st.integers(0, 10**9), st.integers(0, 64), st.integers(1, 64))
def test_parts_of_a_price_never_shrink_the_range(low: int, more: int, count: int, of: int) -> None:
    part = Price(low=low, high=low + more).times(count, of=of)

    assert part.low * of <= low * count
    assert part.high * of >= (low + more) * count


def test_hours_are_multiplied_at_both_ends() -> None:
    assert Price(low=2 * MICRO, high=3 * MICRO).for_hours(1.5) == (3 * MICRO, 4_500_000)


def test_a_range_over_two_origins_keeps_both_with_their_dates() -> None:
    own = Price(low=48, high=48, origin="Cluster document")
    listed = Price(low=55, high=55, origin="AWS list price", as_of=dt.date(2026, 8, 21))

    both = listed.spanning(own)

    assert (both.low, both.high) == (48, 55)
    assert both.origins_text() == "Cluster document; AWS list price, 2026-08-21"
    assert [(one.low, one.high) for one in both.times(3).each()] == [(144, 144), (165, 165)]


def test_what_one_origin_says_of_several_nodes_is_one_range() -> None:
    prices = [Price(low=amount, high=amount, origin="Cluster document") for amount in (6, 4, 5)]
    whole = spanned(prices)

    assert whole is not None
    assert (whole.low, whole.high, whole.among) == (4, 6, ())


a_price = st.builds(
    lambda low, more, origin: Price(low=low, high=low + more, origin=origin),
    st.integers(0, 10**9),
    st.integers(0, 10**6),
    st.sampled_from("abc"),
)


@given(st.lists(a_price, min_size=1, max_size=6))
def test_a_range_covers_every_price_in_any_order_and_names_each_origin_once(prices: list[Price]) -> None:
    whole, backwards = spanned(prices), spanned(reversed(prices))

    assert whole is not None
    assert backwards is not None
    assert (whole.low, whole.high) == (min(one.low for one in prices), max(one.high for one in prices))
    assert sorted(one.origin for one in whole.each()) == sorted({one.origin for one in prices})
    assert whole.each() == backwards.each()
    assert min(one.low for one in whole.each()) == whole.low
