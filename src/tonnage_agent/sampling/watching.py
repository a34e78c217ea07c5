"""Memory over time: exact peaks, peaks by phase, and whether it grows.

The kernel keeps the peak itself, where it is new enough; what rose between two samples is charged to the phase that
was open then, and a sample is taken at each change of phase, so no peak is charged to the wrong one by more than the
time of a sample. Where no phase is open, it is `step`, and before the first step it was `load`.

Growth is the median slope between the lowest points of equal slices of the last minutes: a batch that comes and goes
does not look like a leak, one step up does not either.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from tonnage_agent.telemetry import Sample

WINDOW_SECONDS = 600.0
LEAST_SECONDS = 15.0
_SLICES = 16
_MOST_PHASES = 32
LOAD, STEP = "load", "step"


class MemoryWatch:
    """Fed with samples; tells the record's `memory`."""

    def __init__(self) -> None:
        self.last: Sample | None = None
        self.peak = 0
        self.needed_peak = 0
        self.phases: dict[str, int] = {}
        self.needed_phases: dict[str, int] = {}
        self._first: Sample | None = None
        self._kernel_peak = 0
        self._points: deque[tuple[float, int]] = deque()
        self._has_steps = False
        self._before = (0, 0)
        """The most held, and needed, outside of every phase before the first step."""

    def take(self, sample: Sample, phase: str) -> None:
        """One more sample, taken while this phase was open."""
        if self._first is None:
            # What was the highest before us is not ours.
            self._first, self._kernel_peak = sample, sample.peak_bytes or 0
        high = sample.usage_bytes
        if sample.peak_bytes is not None and sample.peak_bytes > self._kernel_peak:
            high = max(high, sample.peak_bytes)
            self._kernel_peak = sample.peak_bytes
        self.last = sample
        self.peak, self.needed_peak = max(self.peak, high), max(self.needed_peak, sample.needed_bytes)
        if phase or self._has_steps:
            self._charge(phase or STEP, high, sample.needed_bytes)
        else:
            self._before = (max(self._before[0], high), max(self._before[1], sample.needed_bytes))
        self._remember(sample.when, sample.needed_bytes)

    @property
    def oom_kills(self) -> int:
        """Processes the kernel has killed since we began to look."""
        if self.last is None or self._first is None:
            return 0
        return max((self.last.oom_kills or 0) - (self._first.oom_kills or 0), 0)

    @property
    def is_near_limit(self) -> bool:
        """Little is left: time to look more often."""
        limit = self.last.limit_bytes if self.last else None
        return bool(limit and self.last and self.last.needed_bytes > 0.8 * limit)

    def begin_steps(self) -> None:
        """The first step was made: what was loaded before it is no growth."""
        self._points.clear()
        self._has_steps = True
        if self._before[0]:
            self._charge(LOAD, *self._before)

    def growth(self) -> float | None:
        """Bytes per second by which what is needed grows; None where it is too early to tell."""
        if not self._points or self._points[-1][0] - self._points[0][0] < LEAST_SECONDS:
            return None
        lows = self._lows()
        slopes = sorted(
            (y2 - y1) / (x2 - x1)
            for index, (x1, y1) in enumerate(lows)
            for x2, y2 in lows[index + 1 :]
            if x2 > x1
        )
        return slopes[len(slopes) // 2] if slopes else None

    def told(self) -> dict[str, Any]:
        """The record's `memory`."""
        sample = self.last
        if sample is None:
            return {}
        growth = self.growth()
        values: dict[str, Any] = {
            "usage": sample.usage_bytes,
            "peak": self.peak,
            "limit": sample.limit_bytes,
            "workingSet": sample.working_set_bytes,
            "needed": sample.needed_bytes,
            "neededPeak": self.needed_peak,
            "oomKills": self.oom_kills if sample.oom_kills is not None else None,
            "growthPerSecond": round(growth) if growth is not None else None,
            "stalledMicros": sample.stalled_micros,
            "source": sample.source,
            "phases": dict(self.phases),
            "neededPhases": dict(self.needed_phases),
        }
        return {name: value for name, value in values.items() if value not in (None, {})}

    def _charge(self, phase: str, held: int, needed: int) -> None:
        if phase in self.phases or len(self.phases) < _MOST_PHASES:
            self.phases[phase] = max(self.phases.get(phase, 0), held)
            self.needed_phases[phase] = max(self.needed_phases.get(phase, 0), needed)

    def _remember(self, when: float, needed: int) -> None:
        self._points.append((when, needed))
        while self._points and self._points[0][0] < when - WINDOW_SECONDS:
            self._points.popleft()

    def _lows(self) -> list[tuple[float, int]]:
        """The lowest point of each slice of the window."""
        if not self._points:
            return []
        end = self._points[-1][0]
        # The first third may still be filling up what is kept from then on.
        begin = self._points[0][0] + (end - self._points[0][0]) / 3
        width = max((end - begin) / _SLICES, 1e-9)
        lows: dict[int, tuple[float, int]] = {}
        for when, needed in self._points:
            if when < begin:
                continue
            slot = min(int((when - begin) / width), _SLICES - 1)
            if slot not in lows or needed < lows[slot][1]:
                lows[slot] = (when, needed)
        return [lows[slot] for slot in sorted(lows)]
