"""How often to save: the planner's formula, bounded so that saving stays cheap."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tonnage.cost import saving
from tonnage.planning import risking
from tonnage_agent.keeper import intervals
from tonnage_agent.keeper.pacing import Pace, Rule

seconds = st.floats(0.001, 1e5)
means = st.floats(10, 1e8)


@given(seconds, means)
def test_the_agent_and_the_planner_agree_on_the_optimum(save: float, mean: float) -> None:
    assert math.isclose(intervals.daly_interval(save, mean), saving.daly_interval(save, mean))


@given(seconds, means)
def test_the_agent_saves_as_the_plan_said_unless_that_takes_a_tenth_of_the_time(
    save: float, mean: float
) -> None:
    planned, chosen = risking.best_interval_seconds(save, mean), intervals.best_interval(save, mean)

    assert chosen == pytest.approx(max(planned, 9 * save))
    assert save / (chosen + save) <= 0.1 + 1e-9


def test_what_is_assumed_of_nodes_is_the_same_in_both() -> None:
    assert intervals.FAILURES_PER_NODE_DAY == saving.FAILURES_PER_NODE_DAY
    assert intervals.assumed_mean(4) == pytest.approx(
        risking.mean_hours_between_failures(4, is_spot=False) * 3600
    )


def test_the_first_automatic_save_comes_early_and_then_measures() -> None:
    pace = Pace(Rule(mean=4.3 * 3600), now=0)
    assert not pace.is_due(59)
    assert pace.is_due(60)

    pace.saved(100, seconds=40)

    assert not pace.is_due(100 + 17 * 60)
    assert pace.is_due(100 + 19 * 60)


def test_the_interval_follows_what_saves_take_now() -> None:
    pace = Pace(Rule(mean=86400), now=0)
    pace.saved(0, seconds=1)
    before = pace.interval
    for _ in range(3):
        pace.saved(0, seconds=16)

    assert pace.interval / before == pytest.approx(4, rel=0.02)


def test_failures_are_tried_again_sooner_and_ever_more_rarely() -> None:
    pace = Pace(Rule(every=600), now=0)
    waits = []
    for _ in range(7):
        pace.failed(0)
        waits.append(pace.interval)
    pace.saved(0, seconds=1)

    assert waits == [30, 60, 120, 240, 480, 600, 600]
    assert pace.interval == 600


def test_a_script_that_saves_every_second_tries_again_after_a_second() -> None:
    pace = Pace(Rule(every=1), now=0)
    waits = []
    for _ in range(7):
        pace.failed(0)
        waits.append(pace.interval)

    assert waits == [1, 2, 4, 8, 16, 30, 30]
