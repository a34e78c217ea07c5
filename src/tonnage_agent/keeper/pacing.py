"""When the next save is due. Time is told, never asked: `now` is any clock that only goes forward, in seconds."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from tonnage_agent.keeper.intervals import LARGEST_SHARE, SHORTEST, best_interval

_RETRY_SECONDS = 30.0
"""At most this long until a failed save is tried again for the first time."""


@dataclass(frozen=True)
class Rule:
    """How often to save: every so many seconds, or as often as pays."""

    every: float | None = None
    """Seconds; None means the optimum of measured save time and `mean`."""
    mean: float = 86400.0
    """Mean seconds between interruptions of the whole gang."""
    largest_share: float = LARGEST_SHARE
    """Of the time, for saving, where the interval is ours to choose."""


class Pace:
    """Remembers the last saves, and says when the next one is due."""

    def __init__(self, rule: Rule, now: float) -> None:
        self._rule = rule
        self._since = now
        self._took: deque[float] = deque(maxlen=3)
        self._failures = 0
        self.interval = self._next_interval()
        """Seconds from the last save to the next."""

    def _next_interval(self) -> float:
        """The first of an optimum comes early: it measures, and proves."""
        if self._failures:
            every = self._rule.every
            first = _RETRY_SECONDS if every is None else min(max(every, 1.0), _RETRY_SECONDS)
            longest = SHORTEST * 10 if every is None else max(every, _RETRY_SECONDS)
            return min(first * 2.0 ** min(self._failures - 1, 20), longest)
        if self._rule.every is not None:
            return self._rule.every
        if not self._took:
            return SHORTEST
        return best_interval(sum(self._took) / len(self._took), self._rule.mean, self._rule.largest_share)

    @property
    def save_seconds(self) -> float | None:
        """What a save may take: the longest of the last few; None where none was seen."""
        return max(self._took, default=None)

    def is_due(self, now: float) -> bool:
        return now - self._since >= self.interval

    def due_in(self, now: float) -> float:
        """Seconds until the next save is due; 0 where it is."""
        return max(0.0, self._since + self.interval - now)

    def saved(self, now: float, seconds: float) -> None:
        """A save ended well."""
        self._since, self._failures = now, 0
        self._took.append(seconds)
        self.interval = self._next_interval()

    def failed(self, now: float) -> None:
        """A save failed: try again no later than usual, then ever more rarely."""
        self._since = now
        self._failures += 1
        self.interval = self._next_interval()
