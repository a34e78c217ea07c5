"""A small sample of the judged table, on made series alone: ours beside what people use now."""

from __future__ import annotations

from functools import cache

import pytest
from foresight.cases import LIMIT, half_of
from foresight.drawing import others, protocol
from foresight.judging import Standing, judge
from foresight.rivals import DETECTORS

OURS = "tonnage forecast"


@cache
def standings() -> dict[str, Standing]:
    cases = [*protocol([], "report", 2), *others("report", 1)]
    return {name: judge(name, detector, cases) for name, detector in DETECTORS.items()}


def test_leaks_are_found_in_time_without_false_alarms() -> None:
    ours = standings()[OURS]

    assert ours.f1 >= 0.95
    assert ours.false <= 1
    assert sorted(ours.leads)[len(ours.leads) // 10] >= 2 * 3600


@pytest.mark.parametrize("rival", [name for name in DETECTORS if name != OURS])
def test_every_rival_is_beaten(rival: str) -> None:
    assert standings()[OURS].f1 > standings()[rival].f1
    assert standings()[OURS].false < standings()[rival].false


def test_cases_are_the_same_everywhere_and_end_at_their_limit() -> None:
    one, other = list(protocol([], "tuning", 1)), list(protocol([], "tuning", 1))

    assert one == other
    assert all((case.points[-1].bytes >= LIMIT) == (case.reaches is not None) for case in one)
    assert {bool(case.leak) for case in one} == {True, False}
    assert {half_of(f"pod {number}") for number in range(20)} == {"tuning", "report"}
