"""The policies ours is measured against, as they are published, applied to one peak per run.

Each is given the same floor and the same knowledge; none is weakened. Before anything is known all of them ask for what
the user asked for.

    rule of thumb   largest peak + 15 %; twice as much after a death
    KRR             the same, and never below 1.25 x the worst limit that was died at (its OOM data)
    VPA             p90 of peaks in buckets that grow by 5 %, decayed with a half-life of a day, + 15 %; a death
                    counts as a peak of max(limit + 100 MiB, 1.2 x limit), which is also the next limit
    user            what was asked for, always
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from tonnage.sizing.policy import Sizer

MARGIN = 1.15
MIB = 2**20
DAY = 86400.0
FIRST_BUCKET = 1e7
BUCKET_GROWTH = 0.05
FAR_HALVINGS = 500.0
"""Weights are counted from a moment that moves on before 2**halvings leaves what a float can hold."""


class Quiet:
    """A sizer that learns nothing from a start; the others say what they learn from."""

    def started(self, run: int, now: float) -> None:
        pass

    def failed(self, run: int, now: float, limit: float, seconds: float) -> None:
        pass

    def ended(self, run: int, now: float, peak: float, seconds: float) -> None:
        pass


class UserRequest(Quiet):
    """What the user asked for; doubled should even that not be enough."""

    def limit(self, now: float, requested: float) -> float:  # noqa: ARG002 - one protocol for all
        return requested

    def bump(self, failed: float, requested: float) -> float:  # noqa: ARG002
        return 2 * failed


class RuleOfThumb(Quiet):
    """The largest peak seen, and 15 % more."""

    def __init__(self) -> None:
        self.top = 0.0

    def ended(self, run: int, now: float, peak: float, seconds: float) -> None:  # noqa: ARG002
        self.top = max(self.top, peak)

    def limit(self, now: float, requested: float) -> float:  # noqa: ARG002
        return MARGIN * self.top if self.top else requested

    def bump(self, failed: float, requested: float) -> float:  # noqa: ARG002
        return 2 * failed


class Krr(RuleOfThumb):
    """The rule of thumb with a memory for limits that were too small."""

    def __init__(self) -> None:
        super().__init__()
        self.worst_failed = 0.0

    def failed(self, run: int, now: float, limit: float, seconds: float) -> None:  # noqa: ARG002
        self.worst_failed = max(self.worst_failed, limit)

    def limit(self, now: float, requested: float) -> float:  # noqa: ARG002
        return max(MARGIN * self.top, 1.25 * self.worst_failed) if self.top else requested

    def bump(self, failed: float, requested: float) -> float:  # noqa: ARG002
        return 1.25 * failed


class Vpa(Quiet):
    """The recommender's decaying histogram of peaks.

    All weights halve together, so only their ratios matter: a new sample is given more instead of the old ones less.
    """

    def __init__(self) -> None:
        self.weights: dict[int, float] = {}
        self.since = 0.0

    def ended(self, run: int, now: float, peak: float, seconds: float) -> None:  # noqa: ARG002
        self._add(now, peak)

    def failed(self, run: int, now: float, limit: float, seconds: float) -> None:  # noqa: ARG002
        self._add(now, self.bump(limit, 0))

    def limit(self, now: float, requested: float) -> float:  # noqa: ARG002
        if not self.weights:
            return requested
        enough = 0.9 * sum(self.weights.values()) * (1 - 1e-12)
        reached, bucket = 0.0, 0
        for bucket in sorted(self.weights):
            reached += self.weights[bucket]
            if reached >= enough:
                break
        return MARGIN * _bucket_end(bucket)

    def bump(self, failed: float, requested: float) -> float:  # noqa: ARG002
        return max(failed + 100 * MIB, 1.2 * failed)

    def _add(self, now: float, peak: float) -> None:
        if not self.weights:
            self.since = now
        halvings = (now - self.since) / DAY
        if halvings > FAR_HALVINGS:
            self.weights = {bucket: weight * 2.0**-halvings for bucket, weight in self.weights.items()}
            self.since, halvings = now, 0.0
        bucket = _bucket_of(peak)
        self.weights[bucket] = self.weights.get(bucket, 0.0) + 2.0**halvings


def _bucket_of(peak: float) -> int:
    if peak < FIRST_BUCKET:
        return 0
    return math.floor(math.log(peak * BUCKET_GROWTH / FIRST_BUCKET + 1, 1 + BUCKET_GROWTH))


def _bucket_end(bucket: int) -> float:
    return FIRST_BUCKET * ((1 + BUCKET_GROWTH) ** (bucket + 1) - 1) / BUCKET_GROWTH


@dataclass(frozen=True)
class Independent:
    """A policy that learns nothing across signatures."""

    name: str
    make: Callable[[], Sizer]

    def open(self) -> Callable[[], Sizer]:
        return self.make


def baselines() -> tuple[Independent, ...]:
    """The policies to beat, and the user's own requests."""
    return (
        Independent("krr", Krr),
        Independent("vpa", Vpa),
        Independent("rule_of_thumb", RuleOfThumb),
        Independent("user", UserRequest),
    )
