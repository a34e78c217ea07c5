"""What the next run may need, said from the runs there are: a weighted past, and a tail for what was never seen.

Most of the next run's chances lie among peaks already seen (newer ones count more). The rest is the chance of a new
record, and how far above the old one it may lie; these two decide about life and death, so they are modelled and not
left to a fixed percentage.

*How likely is a record?* Of n + 1 exchangeable runs each is the largest with chance 1 / (n + 1). Runs in a row resemble
each other, so n is the number of independent runs that would know as much (lag-1 autocorrelation). And what has ended
is a biased sample: in a burst the short runs end first, and where peaks grow with runtime the large ones are all still
to come. If m runs are already older than any that ended, and peaks followed runtime exactly, the chance would be
(m + 1) / (n + m + 1). The truth is between the two; how far between is the correlation of peak and runtime seen so
far, with a prior of one half worth four runs.

*How far?* Above a high level, logarithms of peaks fall off about exponentially, and the spacings of the largest ones
tell the rate (Renyi; the sum below is Hill's). With a gamma prior on the rate the predictive excess is a Lomax
distribution, P(excess > y) = (1 + y / scale) ** -shape: heavy after one run, and quickly narrow for the many workloads
whose peak is the same to a percent every time. That prior is deliberately weak (half an observation of 3 %), because
spreads differ between workloads by orders of magnitude and have to be learned from each one's own runs.

*Where are peaks going?* Where they clearly grow from run to run (data that grows, a new version), the runs that ended
are brought forward to the one that comes, by at most a fifth: a trend is a reason for a margin, not a prophecy.

Nothing here knows units: doubling all bytes doubles the answer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import NamedTuple

PRIOR_SHAPE = 0.5
PRIOR_SCALE = 0.03
PRIOR_CORRELATION = 0.5
PRIOR_CORRELATION_RUNS = 4.0
MOST_AUTOCORRELATION = 0.98
LEAST_RUNS_OF_A_DRIFT = 8
CLEAR = 4.0
MOST_DRIFT = 0.2
"""A growth less than so many standard errors above nothing is none."""
LEAST_HALF_LIFE = 6.0
HALF_LIFE_SHARE = 1 / 3
"""The weight of a run halves with every third of the history that is newer, at the earliest after six runs."""


class Known(NamedTuple):
    """One run's contribution: its number in order of start, its peak, how long it took."""

    run: int
    peak: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Outlook:
    """What the next run may need. Peaks ascend; the sums over the first i peaks stand at index i."""

    peaks: list[float]
    weight: list[float]
    time: list[float]
    use: list[float]
    """Weights, weighted seconds and weighted byte-seconds of the first i peaks."""
    independent: float
    by_runtime: float
    """How much peaks follow runtime, from 0 to 1."""
    record_chance: float
    shape: float
    scale: float
    record_seconds: float
    """How long a run with a record peak takes: as long as the largest quarter did."""

    @property
    def top(self) -> float:
        return self.peaks[-1]

    def while_outlived(self, num_outliving: float) -> Outlook:
        """The same, with so many runs older than any that ended."""
        return replace(self, record_chance=_record_chance(self.by_runtime, self.independent, num_outliving))

    def survival(self, excess: float) -> float:
        """The chance that a record passes the old one by more than this, in logarithms."""
        return float((1 + excess / self.scale) ** -self.shape)

    def excess(self, share: float, beyond: float = 0.0) -> float:
        """So far above `beyond` (logarithms over the top) lies this share of the records that passed it."""
        return float((self.scale + beyond) * ((1 - share) ** (-1 / self.shape) - 1))


def look_ahead(runs: Sequence[Known], num_outliving: float = 0.0) -> Outlook:
    """The outlook after these runs, in order of start, while others are already older than any that ended."""
    count = len(runs)
    logs = [math.log(run.peak) for run in runs]
    mean = sum(logs) / count
    away = [value - mean for value in logs]
    spread = sum(value * value for value in away)
    independent = _independent(away, spread)
    by_runtime = _correlation(runs, away, spread)
    shape, scale = _tail(logs, independent / count)
    order = sorted(range(count), key=logs.__getitem__)
    half_life = max(LEAST_HALF_LIFE, HALF_LIFE_SHARE * count)
    weights = [0.5 ** ((count - 1 - place) / half_life) for place in range(count)]
    total = sum(weights)
    weights = [weights[place] / total for place in order]
    times = [weight * runs[place].seconds for weight, place in zip(weights, order, strict=True)]
    peaks = [runs[place].peak for place in order]
    largest = order[-max(1, count // 4) :]
    return Outlook(
        peaks=peaks,
        weight=[0.0, *accumulate(weights)],
        time=[0.0, *accumulate(times)],
        use=[0.0, *accumulate(time * peak for time, peak in zip(times, peaks, strict=True))],
        independent=independent,
        by_runtime=by_runtime,
        record_chance=_record_chance(by_runtime, independent, num_outliving),
        shape=shape,
        scale=scale,
        record_seconds=sum(runs[place].seconds for place in largest) / len(largest),
    )


def brought_forward(runs: Sequence[Known], coming: int) -> list[Known]:
    """The peaks as they would be of run number `coming`, where peaks grow from run to run."""
    slope = _drift(runs)
    if not slope:
        return list(runs)
    return [
        run._replace(peak=run.peak * math.exp(min(MOST_DRIFT, slope * (coming - run.run)))) for run in runs
    ]


def _drift(runs: Sequence[Known]) -> float:
    """How much peaks grow from run to run, in logarithms; nothing unless the growth is clear."""
    count = len(runs)
    if count < LEAST_RUNS_OF_A_DRIFT:
        return 0.0
    logs = [math.log(run.peak) for run in runs]
    mean, middle = sum(logs) / count, sum(run.run for run in runs) / count
    across = sum((run.run - middle) ** 2 for run in runs)
    along = sum((run.run - middle) * (value - mean) for run, value in zip(runs, logs, strict=True))
    if along <= 0 or across <= 0:
        return 0.0
    slope = along / across
    left = sum(
        (value - mean - slope * (run.run - middle)) ** 2 for run, value in zip(runs, logs, strict=True)
    )
    doubt = left / (count - 2) / across / slope**2
    return slope * max(0.0, 1 - CLEAR**2 * doubt)


def _independent(away: Sequence[float], spread: float) -> float:
    """How many independent runs know as much as these: n (1 - r) / (1 + r), r from one run to the next."""
    count = len(away)
    if count < 3 or spread < 1e-9:
        return float(count)
    following = sum(one * other for one, other in pairwise(away)) / spread
    similar = min(MOST_AUTOCORRELATION, max(0.0, following))
    return max(1.0, count * (1 - similar) / (1 + similar))


def _record_chance(by_runtime: float, independent: float, num_outliving: float) -> float:
    """Between what exchangeable runs say and what peaks that follow runtime say."""
    return (1 - by_runtime) / (independent + 1) + by_runtime * (num_outliving + 1) / (
        independent + num_outliving + 1
    )


def _correlation(runs: Sequence[Known], away: Sequence[float], spread: float) -> float:
    """How much peaks grow with runtime, in logarithms; a guess as long as few runs say it."""
    count = len(runs)
    if count < 3:
        return PRIOR_CORRELATION
    times = [math.log(run.seconds) for run in runs]
    mean = sum(times) / count
    lags = [value - mean for value in times]
    both = math.sqrt(spread * sum(value * value for value in lags))
    seen = sum(one * other for one, other in zip(away, lags, strict=True)) / both if both > 1e-9 else 0.0
    weighed = PRIOR_CORRELATION * PRIOR_CORRELATION_RUNS + count * max(0.0, seen)
    return weighed / (PRIOR_CORRELATION_RUNS + count)


def _tail(logs: Sequence[float], share: float) -> tuple[float, float]:
    """Shape and scale of the predictive excess; runs that resemble each other count for less."""
    count = len(logs)
    num_spacings = min(count - 1, int(2 * math.sqrt(count)))
    largest = sorted(logs, reverse=True)[: num_spacings + 1]
    hill = sum(largest[:-1]) - num_spacings * largest[-1] if num_spacings else 0.0
    return PRIOR_SHAPE + share * num_spacings, PRIOR_SCALE + share * max(0.0, hill)
