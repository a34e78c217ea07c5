"""Our policy: what it may know, what it does in plain cases, and how it compares on made-up histories."""

from __future__ import annotations

from collections import defaultdict
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from histories import GIB, a_workflow
from tonnage.sizing.backtest import Score, in_order, walk
from tonnage.sizing.baselines import baselines
from tonnage.sizing.expected_cost import ExpectedCost, cheapest
from tonnage.sizing.outlook import Known, brought_forward, look_ahead
from tonnage.sizing.task import Task

HOUR = 3600.0
RIVALS = tuple(policy for policy in baselines() if policy.name != "user")


def limits_of(tasks: list[Task], time_to_failure: float = 1.0) -> dict[Task, float]:
    given: dict[Task, float] = {}
    walk(
        in_order(tasks),
        ExpectedCost(),
        time_to_failure,
        lambda task, _h, first, _r, _w: given.update({task: first}),
    )
    return given


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), cut=st.floats(0.1, 0.9), time_to_failure=st.sampled_from([1.0, 0.5]))
def test_what_happens_after_a_start_never_changes_its_limit(
    seed: int, cut: float, time_to_failure: float
) -> None:
    tasks = in_order(a_workflow(seed, num_signatures=4))
    moment = tasks[int(cut * len(tasks))].start
    changed = [
        task if task.start <= moment else task._replace(peak=3 * task.peak, end=task.end + 50)
        for task in tasks
    ]

    before, after = limits_of(tasks, time_to_failure), limits_of(changed, time_to_failure)
    known = [(old, new) for old, new in zip(tasks, in_order(changed), strict=True) if old.start <= moment]
    assert [before[old] for old, _ in known] == [after[new] for _, new in known]


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_the_order_of_rows_does_not_matter(seed: int) -> None:
    tasks = a_workflow(seed, num_signatures=4)
    shuffled = list(tasks)
    Random(seed).shuffle(shuffled)

    assert limits_of(tasks) == limits_of(shuffled)


@settings(max_examples=50, deadline=None)
@given(
    peaks=st.lists(st.floats(1, 100), min_size=1, max_size=60),
    factor=st.floats(1.1, 50),
    price=st.floats(0.01, 100),
)
def test_twice_the_bytes_get_twice_the_limit(peaks: list[float], factor: float, price: float) -> None:
    def chosen(scale: float) -> float:
        runs = [Known(place, scale * peak * GIB, HOUR) for place, peak in enumerate(peaks)]
        return cheapest(look_ahead(runs), scale * 500 * GIB, scale * price * GIB * HOUR)

    assert chosen(factor) == pytest.approx(factor * chosen(1.0))


@settings(max_examples=50, deadline=None)
@given(peaks=st.lists(st.floats(1, 100), min_size=1, max_size=40), dear=st.floats(1, 1000))
def test_a_dearer_death_never_makes_a_smaller_limit(peaks: list[float], dear: float) -> None:
    outlook = look_ahead([Known(place, peak * GIB, HOUR) for place, peak in enumerate(peaks)])

    cheap, costly = (cheapest(outlook, 5000 * GIB, price * GIB * HOUR) for price in (dear, 10 * dear))
    assert cheap <= costly


def test_before_anything_is_known_the_request_is_given() -> None:
    assert ExpectedCost().open()().limit(0, 7 * GIB) == 7 * GIB


def test_a_limit_never_passes_a_request_that_was_enough() -> None:
    tasks = in_order(a_workflow(7, num_signatures=8))

    assert all(limit <= max(task.requested, 2**28) for task, limit in limits_of(tasks).items())


def test_a_workload_that_never_changes_soon_gets_a_small_margin() -> None:
    tasks = [Task("a", place * HOUR, (place + 0.9) * HOUR, 64 * GIB, 10 * GIB) for place in range(40)]

    last = limits_of(tasks)[tasks[-1]]
    assert 10 * GIB < last < 10.5 * GIB


def test_a_wide_spread_gets_a_wider_margin_than_a_narrow_one() -> None:
    narrow, wide = (
        look_ahead([Known(place, (10 + spread * (place % 5)) * GIB, HOUR) for place in range(10)])
        for spread in (0.01, 1.0)
    )

    price = 10 * GIB * HOUR
    assert cheapest(wide, 500 * GIB, price) / wide.top > cheapest(narrow, 500 * GIB, price) / narrow.top


def test_runs_that_outlive_all_others_make_a_record_likelier() -> None:
    runs = [Known(place, (1 + 0.1 * place) * GIB, 100.0 * (1 + place)) for place in range(5)]

    assert look_ahead(runs, num_outliving=20).record_chance > 2 * look_ahead(runs).record_chance


def test_runs_that_resemble_each_other_count_for_less() -> None:
    alike = [Known(place, (1.0 if place < 10 else 2.0) * GIB, HOUR) for place in range(20)]
    mixed = [Known(place, (1.0 if place % 2 else 2.0) * GIB, HOUR) for place in range(20)]

    assert look_ahead(alike).independent < 5 < look_ahead(mixed).independent


def test_peaks_that_clearly_grow_are_brought_forward_by_no_more_than_a_fifth() -> None:
    growing = [Known(place, 1.01**place * GIB, HOUR) for place in range(40)]
    steady = [Known(place, (1 + 0.01 * (place * 7 % 5)) * GIB, HOUR) for place in range(40)]

    assert brought_forward(steady, 45) == steady
    assert brought_forward(growing, 41)[-1].peak == pytest.approx(1.01**41 * GIB, rel=0.01)
    assert (
        max(new.peak / old.peak for new, old in zip(brought_forward(growing, 400), growing, strict=True))
        < 1.23
    )


def test_on_made_up_workflows_fewer_die_and_less_is_wasted_than_under_any_rival() -> None:
    totals: dict[tuple[str, float, int], Score] = defaultdict(Score)
    for seed in range(8):
        ordered = in_order(a_workflow(seed, num_signatures=40))
        for time_to_failure in (1.0, 0.5):
            for policy in (ExpectedCost(), *RIVALS):
                for least, score in walk(ordered, policy, time_to_failure).items():
                    total = totals[policy.name, time_to_failure, least]
                    total.first_attempts += score.first_attempts
                    total.deaths += score.deaths
                    total.waste_gib_hours += score.waste_gib_hours

    for (name, time_to_failure, least), rival in totals.items():
        ours = totals["tonnage", time_to_failure, least]
        if name != "tonnage":
            assert ours.oom_rate < rival.oom_rate, (name, time_to_failure, least)
            assert ours.waste_gib_hours < rival.waste_gib_hours, (name, time_to_failure, least)
