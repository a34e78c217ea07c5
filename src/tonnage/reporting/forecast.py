"""A forecast for people and for machines: the verdict, its evidence, the time to the limit, and what to do.

One value feeds the terminal, `-o json` and the picture. What to do depends on the verdict alone and is said in words
that need no knowledge of how the verdict was found.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tonnage.figures import duration
from tonnage.memory.series import Point, peak
from tonnage.memory.series.forecasting import SeriesForecast
from tonnage.units import format_bytes

GIB, MIB = 2**30, 2**20
HEADROOM = 1.1
DAY = 86400.0
SAVING = ("checkpoint", "ckpt", "save", "saving")
EVALUATING = ("eval", "valid", "test")


@dataclass(frozen=True)
class ForecastView:
    """Everything a screen shows of one series."""

    subject: str
    limit: int
    found: SeriesForecast
    series: Sequence[Point]
    remedies: tuple[str, ...]
    notes: tuple[str, ...]
    """What was done to the file's rows before they were judged."""

    @property
    def now(self) -> float:
        return self.series[-1].bytes if self.series else 0.0

    @property
    def peak(self) -> float:
        return peak(self.series) or 0.0


def forecast_view(
    subject: str, limit: int, found: SeriesForecast, series: Sequence[Point], notes: Sequence[str] = ()
) -> ForecastView:
    """Put a forecast together with what to do about it."""
    return ForecastView(subject, limit, found, series, _remedies(found, limit, series), tuple(notes))


def as_json(view: ForecastView) -> dict[str, Any]:
    """The stable shape; `limit_in_seconds` is null where no end is in sight."""
    found = view.found
    until = found.limit_in_seconds
    spikes = found.spikes
    return {
        "verdict": found.verdict,
        "evidence": list(found.evidence),
        "limit_in_seconds": None
        if until is None
        else {"p10": round(until.p10, 1), "p50": round(until.p50, 1), "p90": round(until.p90, 1)},
        "limit_bytes": view.limit,
        "now_bytes": round(view.now),
        "peak_bytes": round(view.peak),
        "measurements": len(view.series),
        "growth_bytes_per_second": found.growth_per_second,
        "spikes": None
        if spikes is None
        else {
            "height_bytes": round(spikes.height),
            "count": spikes.count,
            "seconds_between": spikes.seconds_between,
            "phase": found.phase,
            "limit_needed_bytes": _needed(view.peak),
        },
        "remedies": list(view.remedies),
        "notes": list(view.notes),
    }


def _remedies(found: SeriesForecast, limit: int, series: Sequence[Point]) -> tuple[str, ...]:
    top = peak(series) or 0.0
    if found.verdict == "leaking" and found.limit_in_seconds is not None:
        pace = found.growth_per_second or 0.0
        return (
            f"a checkpoint within {duration(found.limit_in_seconds.p10)} comes before the limit, nine times in ten",
            f"memory: {_quantity(top + pace * DAY)} keeps it alive a day longer, while you look for what "
            "holds on to memory with every step, epoch or request",
        )
    if found.verdict == "spiky":
        over = "" if top < limit else f"; the highest was over the limit of {format_bytes(limit)}"
        return (
            f"flatten them: {_flattening(found.phase)}",
            f"or give it the limit it needs: memory: {_quantity(_needed(top))} (highest + 10 %){over}",
        )
    if found.verdict == "shifted":
        return (f"size it by the new level: memory: {_quantity(_needed(top))} (highest + 10 %)",)
    if found.verdict == "warming up":
        length = series[-1].seconds - series[0].seconds
        return (f"ask again in {duration(max(length / 2, 1.0))}: by then a leak has shown itself",)
    if found.verdict == "not enough data":
        return ("ask again when there are more measurements",)
    return ()


def _flattening(phase: str | None) -> str:
    """What makes less memory be held at once in a phase."""
    word = (phase or "").lower()
    if any(each in word for each in SAVING):
        return "save in shards, or stream to disk, so that no rank holds a second copy"
    if any(each in word for each in EVALUATING):
        return "evaluate in smaller batches, and keep no outputs between them"
    if "load" in word or "data" in word:
        return "fewer loader workers, or a smaller prefetch"
    return "hold less at once there: sharded saves, smaller batches, fewer loader workers"


def _needed(top: float) -> int:
    return math.ceil(top * HEADROOM / MIB) * MIB


def _quantity(size: float) -> str:
    """A Kubernetes quantity that is no less, whole GiB where that is fine enough."""
    return f"{math.ceil(size / GIB)}Gi" if size >= 8 * GIB else f"{math.ceil(size / MIB)}Mi"
