"""The protocol: a detector sees each series grow and is asked every 28 minutes; what counts is decided by series.

recall    leaking series with an alarm before the limit is reached
false alarms   series without a leak that ever raise one
lead      from the first alarm to the limit
coverage  of all answers to leaking series that are alarms: the true time lies within p10 and p90
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from foresight.cases import HOUR, Case
from foresight.rivals import Detector, Said

EVERY = 28 * 60.0


@dataclass(frozen=True)
class Answer:
    """What was said at one moment of one series."""

    case: Case
    at: float
    """Seconds since the first sample."""
    said: Said

    @property
    def left(self) -> float | None:
        """What really was left."""
        return None if self.case.reaches is None else self.case.reaches - self.at


@dataclass
class Standing:
    """How one detector did."""

    detector: str
    leaks: int = 0
    found: int = 0
    negatives: int = 0
    false: int = 0
    false_by_kind: dict[str, int] = field(default_factory=dict)
    negatives_by_kind: dict[str, int] = field(default_factory=dict)
    missed: list[str] = field(default_factory=list)
    false_names: list[str] = field(default_factory=list)
    leads: list[float] = field(default_factory=list)
    covered: list[bool] = field(default_factory=list)
    covered_late: list[bool] = field(default_factory=list)
    """From half-way to the limit on."""
    errors_late: list[float] = field(default_factory=list)
    """|log(p50 / truth)| from half-way on."""

    @property
    def recall(self) -> float:
        return self.found / self.leaks if self.leaks else 0.0

    @property
    def false_rate(self) -> float:
        return self.false / self.negatives if self.negatives else 0.0

    @property
    def precision(self) -> float:
        """As if there were as many series with a leak as without."""
        both = self.recall + self.false_rate
        return self.recall / both if both else 0.0

    @property
    def f1(self) -> float:
        both = self.recall + self.precision
        return 2 * self.recall * self.precision / both if both else 0.0

    def figures(self) -> dict[str, float | str | None]:
        """For machines; hours, shares."""
        covered = sum(self.covered) / len(self.covered) if self.covered else None
        return {
            "detector": self.detector,
            "f1": self.f1,
            "recall": self.recall,
            "false_rate": self.false_rate,
            "lead_p10_hours": quantile(self.leads, 0.1) / HOUR if self.leads else None,
            "coverage": covered,
        }


def answers(case: Case, detector: Detector) -> list[Answer]:
    """Everything said of a series while it grew, up to the limit."""
    times = [point.seconds for point in case.points]
    end = times[-1] if case.reaches is None else times[0] + case.reaches - 1e-6
    found, at = [], times[0] + EVERY
    while at <= end:
        seen = case.points[: bisect_right(times, at)]
        found.append(Answer(case, seen[-1].seconds - times[0], detector(seen)))
        at += EVERY
    return found


def judge(name: str, detector: Detector, cases: Iterable[Case]) -> Standing:
    """Ask a detector about every case and count."""
    standing = Standing(name)
    for case in cases:
        count(standing, case, answers(case, detector))
    return standing


def count(standing: Standing, case: Case, said: Sequence[Answer]) -> None:
    """Add one series to the sums."""
    alarms = [answer for answer in said if answer.said.is_alarm]
    if not case.leak:
        kinds = standing.negatives_by_kind
        kinds[case.kind] = kinds.get(case.kind, 0) + 1
        standing.negatives += 1
        if alarms:
            standing.false += 1
            standing.false_names.append(f"{case.name} at {alarms[0].at / HOUR:.1f} h")
            standing.false_by_kind[case.kind] = standing.false_by_kind.get(case.kind, 0) + 1
        return
    standing.leaks += 1
    if not alarms:
        standing.missed.append(case.name)
        return
    standing.found += 1
    standing.leads.append(alarms[0].left or 0.0)
    for answer in alarms:
        _count_time(standing, answer)


def _count_time(standing: Standing, answer: Answer) -> None:
    said, left = answer.said, answer.left
    if said.p50 is None or left is None or left <= 0:
        return
    is_late = answer.at >= left
    if said.p10 is not None and said.p90 is not None:
        is_covered = said.p10 <= left <= said.p90
        standing.covered.append(is_covered)
        if is_late:
            standing.covered_late.append(is_covered)
    if is_late:
        standing.errors_late.append(abs(math.log(max(said.p50, 1.0) / left)))


def quantile(values: Sequence[float], share: float) -> float:
    """The value below which that share lies."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else math.nan
