"""Quantities: the API server's own quirks, and the laws that hold for all of them."""

from __future__ import annotations

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from tonnage.units import (
    NANO,
    WRONG_FORMAT,
    WRONG_SUFFIX,
    QuantityError,
    format_bytes,
    parse_quantity,
    quantity_of,
    try_quantity,
)

SUFFIXES = [
    "",
    "n",
    "u",
    "m",
    "k",
    "M",
    "G",
    "T",
    "P",
    "Ki",
    "Mi",
    "Gi",
    "Ti",
    "Pi",
    "e3",
    "E-3",
    "e+6",
    "e0",
]
literals = st.builds(
    lambda sign, whole, fraction, suffix: f"{sign}{whole}{fraction}{suffix}",
    st.sampled_from(["", "", "-", "+"]),
    st.integers(0, 10**12).map(str),
    st.one_of(st.just(""), st.integers(0, 10**9).map(lambda n: f".{n}")),
    st.sampled_from(SUFFIXES),
)
quantities = literals.map(parse_quantity)


@pytest.mark.parametrize(
    ("written", "printed"),
    [
        ("0.5", "500m"),
        ("1.5", "1500m"),
        ("1.500", "1.500"),  # thought canonical, so the very characters are kept
        ("1.000", "1"),
        ("1000m", "1"),
        ("100000", "100k"),
        ("1024Mi", "1Gi"),
        ("1000Mi", "1000Mi"),
        ("1.5Gi", "1536Mi"),
        ("0.5Ki", "512"),
        ("0.1m", "100u"),
        ("1e3", "1e3"),
        ("1500e0", "1500e0"),
        ("+5Gi", "+5Gi"),
        ("007", "007"),
        ("0Gi", "0"),
        ("-0", "0"),
        ("+", "0"),
        (".", "0"),
        ("16Ei", "9223372036854775807"),
        ("1000000000000000000", "1E"),
        ("5e-10", "1e-9"),
    ],
)
def test_a_quantity_is_printed_as_the_api_server_prints_it(written, printed):
    assert str(parse_quantity(written)) == printed


@pytest.mark.parametrize("text", ["", "abc", "1 Gi", "1.2.3", "1gi", "1,5", "0x10", "1e3.5", "\uff11"])
def test_what_is_no_number_is_refused_in_the_servers_words(text):
    with pytest.raises(QuantityError, match=r"quantities must match the regular expression") as caught:
        parse_quantity(text)

    assert str(caught.value) == WRONG_FORMAT
    assert try_quantity(text) is None


@pytest.mark.parametrize("text", ["--1", "5ee3", "1e", "1Kii", "5-", "1mi", "1e99999999999999999999"])
def test_an_unknown_suffix_is_refused_in_the_servers_words(text):
    with pytest.raises(QuantityError) as caught:
        parse_quantity(text)

    assert str(caught.value) == WRONG_SUFFIX


@pytest.mark.parametrize(
    ("written", "stored"),
    [("0.1m", "1m"), ("1500u", "2m"), ("1.0001", "1001m"), ("-1.0001", "-1001m"), ("1.500", "1.500")],
)
def test_the_server_stores_nothing_finer_than_a_thousandth(written, stored):
    assert str(parse_quantity(written).rounded_to_milli()) == stored


def test_whole_units_are_rounded_away_from_zero():
    assert parse_quantity("1.2").value() == 2
    assert parse_quantity("-1.2").value() == -2
    assert parse_quantity("0.0001").milli() == 1


def test_an_overflow_is_the_one_go_leaves_behind():
    assert parse_quantity("999999999999999999").milli() == 3875820019684211736
    assert parse_quantity("16Ei").milli() == -1000
    assert parse_quantity("10E").value() == 0


def test_a_sum_takes_the_format_of_its_first_part_that_is_not_zero():
    assert str(parse_quantity("1Gi") + parse_quantity("1024")) == "1048577Ki"
    assert str(parse_quantity("0") + parse_quantity("1024Mi")) == "1Gi"
    assert str(parse_quantity("1024") + parse_quantity("1Ki")) == "2048"


@given(literals)
@example("1.500")
@example("0.0000000001Ki")
def test_the_printed_form_means_the_same_and_prints_the_same(text):
    quantity = parse_quantity(text)
    assume(has_a_suffix(quantity))
    again = parse_quantity(str(quantity))

    assert again == quantity
    assert str(again) == str(quantity)


@given(literals)
def test_the_canonical_form_means_the_same(text):
    quantity = parse_quantity(text)
    assume(has_a_suffix(quantity))

    assert parse_quantity(quantity.canonical()) == quantity


def has_a_suffix(quantity):
    """Below a thousand exa. Kubernetes knows no suffix beyond and prints the bare digits: 1000E becomes 1."""
    return abs(quantity.nano) < 10**21 * NANO


def test_an_amount_beyond_every_suffix_loses_it_as_in_kubernetes():
    assert str(parse_quantity("1000000000000G")) == "1"


@given(quantities, quantities)
def test_quantities_are_ordered_as_their_amounts(one, other):
    assert (one < other) == (one.nano < other.nano)
    assert (one <= other) != (one > other)
    assert (one == other) == (one.nano == other.nano)
    assert (one != other) or hash(one) == hash(other)


@given(quantities, quantities, quantities)
def test_sums_do_not_depend_on_order_and_can_be_undone(one, two, three):
    assert (one + two) + three == one + (three + two)
    assert (one + two) - two == one
    assert one - one == quantity_of(0)
    assert quantity_of(0) - one == -one


@given(quantities)
def test_storing_never_shrinks_an_amount_and_changes_it_by_less_than_a_thousandth(quantity):
    stored = quantity.rounded_to_milli()

    assert stored.nano % 10**6 == 0
    assert 0 <= abs(stored.nano) - abs(quantity.nano) < 10**6
    assert stored.rounded_to_milli() == stored


@given(st.integers(-(2**53), 2**53))
def test_whole_numbers_come_back_whole(number):
    quantity = quantity_of(number)

    assert quantity.is_whole()
    assert quantity.value() == number
    assert parse_quantity(str(quantity)).value() == number


@given(st.text(alphabet="0123456789.+-eEinumkKMGTP ", max_size=8))
def test_every_short_text_is_read_or_refused_and_nothing_else(text):
    quantity = try_quantity(text)

    if quantity is None:
        with pytest.raises(QuantityError, match=r"quantities must match|quantity's suffix"):
            parse_quantity(text)
    else:
        assert parse_quantity(quantity.canonical()) == quantity or abs(quantity.nano) >= 10**30


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (512, "512 B"), (1536, "1.5 KiB"), (44_346_671_104, "41.3 GiB"), (2**40, "1 TiB")],
)
def test_bytes_are_written_for_people(count, text):
    assert format_bytes(count) == text
