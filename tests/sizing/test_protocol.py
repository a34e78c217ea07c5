"""The back-test's protocol, on histories small enough to be worked out by hand."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tonnage.sizing.backtest import Score, in_order, walk
from tonnage.sizing.baselines import Krr, RuleOfThumb, UserRequest, Vpa, baselines
from tonnage.sizing.policy import Sizer
from tonnage.sizing.task import Task

GIB = 2.0**30
HOUR = 3600.0


class Fixed:
    """A policy of constant limits, which remembers what it was told."""

    name = "fixed"

    def __init__(self, limit: float, factor: float = 2.0) -> None:
        self.given, self.factor = limit, factor
        self.told: list[tuple[str, int, float, float]] = []
        self.asked: list[tuple[float, int]] = []

    def open(self) -> Callable[[], Sizer]:
        return lambda: self

    def limit(self, now: float, requested: float) -> float:  # noqa: ARG002
        self.asked.append((now, len(self.told)))
        return self.given

    def bump(self, failed: float, requested: float) -> float:  # noqa: ARG002
        return self.factor * failed

    def started(self, run: int, now: float) -> None:
        pass

    def failed(self, run: int, now: float, limit: float, seconds: float) -> None:  # noqa: ARG002
        self.told.append(("failed", run, now, limit))

    def ended(self, run: int, now: float, peak: float, seconds: float) -> None:  # noqa: ARG002
        self.told.append(("ended", run, now, peak))


def a_task(start: float, hours: float, peak: float, signature: str = "a", requested: float = 64) -> Task:
    """A run with hours and GiB."""
    return Task(signature, start * HOUR, (start + hours) * HOUR, requested * GIB, peak * GIB)


def score_of(policy_name: str, tasks: list[Task], time_to_failure: float = 1.0, least: int = 1) -> Score:
    policy = next(policy for policy in baselines() if policy.name == policy_name)
    return walk(in_order(tasks), policy, time_to_failure)[least]


def test_an_attempt_that_is_enough_wastes_what_it_holds_above_the_peak() -> None:
    score = walk([a_task(0, 1, 3), a_task(2, 2, 5)], Fixed(8 * GIB), 1.0)[1]

    assert (score.first_attempts, score.deaths, score.retries) == (1, 0, 0)
    assert score.waste_gib_hours == pytest.approx((8 - 5) * 2)


@pytest.mark.parametrize("time_to_failure", [1.0, 0.5])
def test_a_dead_attempt_wastes_its_whole_limit_while_it_lasts(time_to_failure: float) -> None:
    score = walk([a_task(0, 1, 3), a_task(2, 2, 7)], Fixed(2 * GIB), time_to_failure)[1]

    assert (score.deaths, score.retries) == (1, 2)
    assert score.waste_gib_hours == pytest.approx((2 + 4) * 2 * time_to_failure + (8 - 7) * 2)
    assert score.oom_rate == 1.0


def test_a_death_is_known_when_it_happens_and_a_peak_when_the_last_attempt_has_ended() -> None:
    policy = Fixed(4 * GIB)
    walk(
        [a_task(0, 2, 7), a_task(0.9, 1, 1), a_task(1.1, 1, 1), a_task(2.9, 1, 1), a_task(3.1, 1, 1)],
        policy,
        0.5,
    )

    assert [count for _, count in policy.asked] == [0, 0, 1, 3, 4]
    assert policy.told[:1] == [("failed", 0, 1 * HOUR, 4 * GIB)]
    assert ("ended", 0, 3 * HOUR, 7 * GIB) in policy.told


def test_history_is_counted_by_the_traces_own_ends() -> None:
    tasks = [a_task(0, 1, 9), a_task(1, 1, 1), a_task(2, 1, 1), a_task(3, 1, 1)]
    patient, dying = Fixed(16 * GIB), Fixed(1 * GIB)

    counts = [walk(tasks, policy, 1.0)[3].first_attempts for policy in (patient, dying)]
    assert counts == [1, 1]


def test_signatures_do_not_share_history() -> None:
    tasks = [a_task(0, 1, 1, "a"), a_task(2, 1, 1, "b"), a_task(4, 1, 1, "a")]

    assert walk(tasks, Fixed(GIB), 1.0)[1].first_attempts == 1


def test_nothing_is_given_less_than_the_floor() -> None:
    score = walk([a_task(0, 1, 0.01), a_task(2, 1, 0.05)], Fixed(1.0), 1.0)[1]

    assert score.deaths == 0
    assert score.waste_gib_hours == pytest.approx(0.25 - 0.05)


def test_a_bump_that_does_not_grow_ends_all_the_same() -> None:
    score = walk([a_task(0, 1, 1), a_task(2, 1, 8)], Fixed(1 * GIB, factor=1.0), 1.0)[1]

    assert score.deaths == 1


def test_the_rule_of_thumb_gives_the_largest_peak_and_15_percent_then_doubles() -> None:
    score = score_of("rule_of_thumb", [a_task(0, 1, 4), a_task(2, 1, 2), a_task(4, 1, 8)], least=1)

    assert score.waste_gib_hours == pytest.approx((4.6 - 2) + 4.6 + (9.2 - 8))
    assert RuleOfThumb().limit(0, 7 * GIB) == 7 * GIB


def test_krr_never_goes_below_a_limit_that_was_died_at() -> None:
    sizer = Krr()
    sizer.ended(0, 0, 4 * GIB, HOUR)
    sizer.failed(1, 1, 4.6 * GIB, HOUR)

    assert sizer.limit(2, 64 * GIB) == pytest.approx(4.6 * 1.25 * GIB)
    assert sizer.bump(4 * GIB, 0) == 5 * GIB


def test_vpa_forgets_by_half_a_day_and_ends_at_a_bucket() -> None:
    sizer = Vpa()
    sizer.ended(0, 0, 8 * GIB, HOUR)
    one = sizer.limit(0, 64 * GIB)
    for run in range(1, 4):
        sizer.ended(run, 10 * 86400.0, 2 * GIB, HOUR)

    assert 8 * GIB * 1.15 <= one <= 8 * GIB * 1.15 * 1.05
    assert 2 * GIB * 1.15 <= sizer.limit(10 * 86400.0, 64 * GIB) <= 2 * GIB * 1.15 * 1.05


def test_vpa_counts_a_death_as_a_larger_peak_for_years() -> None:
    sizer = Vpa()
    sizer.failed(0, 0, 10 * GIB, HOUR)
    sizer.ended(1, 2000 * 86400.0, 1 * GIB, HOUR)

    assert sizer.limit(2000 * 86400.0, 0) < 2 * GIB
    assert sizer.bump(10 * GIB, 0) == 12 * GIB


def test_the_user_gets_what_was_asked_for() -> None:
    assert UserRequest().limit(0, 5 * GIB) == 5 * GIB
    assert score_of("user", [a_task(0, 1, 3), a_task(2, 1, 3)]).waste_gib_hours == pytest.approx(61)
