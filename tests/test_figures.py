"""Counted money and time keep their digits; predicted ones are rounded, and never to another unit's nonsense."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tonnage.figures import MICRO, about_dollars, about_time, dollars, duration


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.04, "0.04 s"),
        (9.94, "9.9 s"),
        (42, "42 s"),
        (200, "3 min"),
        (7_380, "2 h 3 min"),
        (200_000, "2 d 7 h"),
    ],
)
def test_time_gone_by_is_said_as_people_say_it(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@given(st.integers(min_value=0, max_value=10**15))
def test_counted_money_reads_back_to_the_digit_that_is_shown(micro: int) -> None:
    shown = float(dollars(micro).removeprefix("$").replace(",", "")) * MICRO
    step = 1 if micro < MICRO // 100 else MICRO if micro >= 999.5 * MICRO else MICRO // 100

    assert abs(shown - micro) <= step / 2 + 1e-6 * micro


@given(st.floats(min_value=0.01 * MICRO, max_value=1e15))
def test_predicted_money_is_within_five_per_cent_of_the_figure(micro: float) -> None:
    shown = float(about_dollars(micro).removeprefix("$").replace(",", "")) * MICRO

    assert abs(shown - micro) <= 0.05 * micro + 0.005 * MICRO


@given(st.floats(min_value=0.001, max_value=1e8))
def test_predicted_time_is_within_five_per_cent_of_the_figure(seconds: float) -> None:
    number, unit = about_time(seconds).replace(",", "").split()
    shown = float(number) * {"ms": 0.001, "s": 1, "min": 60, "h": 3600, "d": 86400}[unit]

    assert abs(shown - seconds) <= 0.051 * seconds + 0.0005
