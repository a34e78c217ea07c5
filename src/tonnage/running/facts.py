"""What is known of an attempt's end beside its cause: how far it was, what is safe, what it held, how fast that grew.

From the agents' records (written before death), the last look at it, and the memory series where they were kept.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from tonnage.diagnosis.boxes import Box, boxes_of
from tonnage.diagnosis.evidence import Evidence
from tonnage.diagnosis.statements import ended_at
from tonnage.memory.series import Point, growth_of
from tonnage.memory.series.growing import LEAST_POINTS
from tonnage.running.attempts import Attempt
from tonnage.running.observing import Observation

FALLEN = 0.5
"""Of the most it held: below this at the very end, whoever held it is gone."""


@dataclass(frozen=True)
class Facts:
    """See the module; None where nobody knows."""

    attempt: Attempt
    observation: Observation
    evidence: Evidence
    now: dt.datetime
    series: Mapping[int, Sequence[Point]]

    @cached_property
    def boxes(self) -> tuple[Box, ...]:
        return boxes_of(self.evidence)

    @cached_property
    def first_end(self) -> dt.datetime:
        """When the first pod ended."""
        return min(self._ends(), default=self.observation.since or self.now)

    @cached_property
    def last_end(self) -> dt.datetime:
        """When the last pod ended."""
        return max(self._ends(), default=self.observation.since or self.now)

    @cached_property
    def step(self) -> int | None:
        seen = self.observation.progress
        return _most(*(box.record.step for box in self.boxes), seen.step if seen else None)

    @cached_property
    def total(self) -> int | None:
        seen = self.observation.progress
        return _most(*(box.record.total for box in self.boxes), seen.total if seen else None)

    @property
    def is_complete(self) -> bool:
        """Whether the last step was made; scripts count from 0 or from 1."""
        return self.step is not None and self.total is not None and self.step + 1 >= self.total

    @cached_property
    def saved(self) -> tuple[int | None, dt.datetime | None]:
        """Step and time of the newest whole checkpoint anybody knows of; without a time, the one it resumed from."""
        known = [(box.saved_step, box.saved) for box in self.boxes if box.saved_step is not None]
        resumed = [self.attempt.from_step, *(box.record.resumed_from for box in self.boxes)]
        known += [(step, None) for step in resumed if step is not None and step >= 0]
        if (seen := self.observation.saved) is not None:
            known.append((seen.step, seen.when))
        return max(known, key=lambda pair: pair[0], default=(None, None))

    @property
    def peak(self) -> int | None:
        """The most RAM that one pod held."""
        now = self.observation.memory
        return _most(*(box.usage for box in self.boxes), *((now.usage, now.peak) if now else ()))

    @property
    def seconds_left(self) -> float | None:
        """How long the steps after the newest checkpoint take."""
        told = [box.record.step_seconds for box in self.boxes if box.record.step_seconds is not None]
        seen = self.observation.progress
        per_step = seen.seconds_per_step if seen and seen.seconds_per_step else max(told, default=None)
        if per_step is None or self.total is None:
            return None
        return max(0, self.total - (self.saved[0] or 0)) * per_step

    @property
    def lost_seconds(self) -> float | None:
        """Time since the newest whole checkpoint, or since it started where there is none (or it resumed after)."""
        started, (safe_step, saved) = self._started(), self.saved
        if started is None:
            return 0.0
        if safe_step is None and not self.boxes and self.observation.progress is None:
            return None  # nobody said how far it was, so nobody knows what it had saved
        since = started if saved is None else max(saved, started)
        return max(0.0, (self.first_end - since).total_seconds())

    def growth_of(self, node: int | None) -> float | None:
        """Bytes per second by which memory grew: of the pod that died, else the fastest."""
        kept = () if node is None else _alive(self.series.get(node, ()))
        if len(kept) >= LEAST_POINTS:
            growth = growth_of(kept, limit=self.attempt.size.memory)
            return growth.bytes_per_second if growth.is_growing else None
        own = [box for box in self.boxes if box.node == node]
        rates = [box.growth_per_second for box in own or self.boxes if box.growth_per_second is not None]
        if not rates and self.observation.memory is not None:
            return self.observation.memory.growth_per_second
        return max(rates, default=None)

    def _ends(self) -> list[dt.datetime]:
        return [at for pod in self.evidence.pods if (at := ended_at(pod)) is not None]

    def _started(self) -> dt.datetime | None:
        """When it began to run: as seen, or as its agent or its containers say where it died too soon to be seen."""
        told = [box.started for box in self.boxes]
        told += [end.started for pod in self.evidence.pods for end in pod.containers if not end.is_init]
        return self.attempt.started or min((at for at in told if at is not None), default=None)


def _alive(series: Sequence[Point]) -> Sequence[Point]:
    """Without what was measured after its end: an agent that outlives its command sees memory fall."""
    most, end = max((point.bytes for point in series), default=0.0), len(series)
    while end and series[end - 1].bytes < most * FALLEN:
        end -= 1
    return series[:end]


def _most(*values: int | None) -> int | None:
    return max((value for value in values if value is not None), default=None)
