"""What a series of memory does, why we think so, and when it reaches its limit.

One verdict of six, each with its evidence in words and figures. A leak comes first, since it kills; of everything
else the largest is named.

    not enough data   fewer than 24 measurements, or all of one moment
    leaking           growth never given back that reaches the limit (`leaking`, `extrapolating`)
    shifted           one step to another level (`shaping`)
    warming up        growth that ends below the limit, or is too young to be called a leak (`shaping`)
    spiky             short heights far above the rest (`spiking`)
    stable            none of these; saw teeth and swings that come down again are stable

Pure: seconds and bytes in, a value out. The same answer for the same series, whatever the clock says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tonnage.figures import duration
from tonnage.memory.series import wording
from tonnage.memory.series.extrapolating import Until, until_limit
from tonnage.memory.series.leaking import LEAST_POINTS, Window, leaks, objection, windows
from tonnage.memory.series.parting import Part, parts_of
from tonnage.memory.series.points import Point
from tonnage.memory.series.shaping import rise_of, shift_of
from tonnage.memory.series.spiking import Spikes, phase_of, spikes_of
from tonnage.memory.series.thinning import MOST_STRETCHES, Stretches, thin

Verdict = Literal["stable", "warming up", "spiky", "leaking", "shifted", "not enough data"]
NOW = Until(0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class SeriesForecast:
    """The verdict on a series."""

    verdict: Verdict
    evidence: tuple[str, ...]
    limit_in_seconds: Until | None = None
    """From the last measurement; None where no end is in sight."""
    growth_per_second: float | None = None
    """Of what is never given back; only where it leaks."""
    spikes: Spikes | None = None
    """Whatever the verdict is."""
    phase: str | None = None
    """Of the spikes, where the phases of training are known."""


def forecast(series: Sequence[Point], limit: float, phases: Sequence[str] = ()) -> SeriesForecast:
    """The verdict on a series that is sorted by time, below a limit in bytes; `phases` has one for each point."""
    if len(series) < LEAST_POINTS or series[-1].seconds <= series[0].seconds:
        return SeriesForecast("not enough data", (_too_little(series),))
    stretches = thin(series)
    parts = parts_of(stretches)
    spikes = spikes_of(stretches, parts, limit)
    phase = _phase(series, phases, spikes)
    is_there = series[-1].bytes >= limit
    if leaking := leaks(stretches, limit):
        pace = _pace(leaking)
        evidence = wording.leak(leaking[0], pace, limit, spikes)
        until = until_limit(stretches, leaking, limit)
        return SeriesForecast("leaking", evidence, until, pace, spikes, phase)
    verdict, evidence = _without_leak(stretches, parts, spikes, limit)
    if verdict == "spiky" and phase:
        evidence = (*evidence, f"they stand in the phase {phase}")
    reached = (wording.reached(series, limit),) if is_there else ()
    return SeriesForecast(verdict, (*evidence, *reached), NOW if is_there else None, None, spikes, phase)


def _phase(series: Sequence[Point], phases: Sequence[str], spikes: Spikes | None) -> str | None:
    if spikes is None or not any(phases):
        return None
    stretch = (series[-1].seconds - series[0].seconds) / MOST_STRETCHES
    return phase_of(spikes, series, phases, stretch if len(series) > MOST_STRETCHES else 0.0)


def _without_leak(
    stretches: Stretches, parts: Sequence[Part], spikes: Spikes | None, limit: float
) -> tuple[Verdict, tuple[str, ...]]:
    """The largest of what there is besides a leak."""
    whole = next(windows(stretches))
    shift, rise = shift_of(parts, limit), rise_of(parts, whole, limit)
    sizes: dict[Verdict, float] = {}
    if spikes is not None:
        sizes["spiky"] = spikes.height
    if shift is not None:
        sizes["shifted"] = abs(shift.size)
    elif rise is not None and not rise.is_over_long_ago:
        sizes["warming up"] = rise.bytes
    verdict = max(sizes, key=lambda name: sizes[name]) if sizes else "stable"
    if verdict == "spiky" and spikes is not None:
        return verdict, wording.spikes(spikes, stretches, limit)
    if verdict == "shifted" and shift is not None:
        return verdict, wording.shift(shift, parts)
    if verdict == "warming up" and rise is not None:
        return verdict, wording.rise(rise, whole, objection(whole, limit), limit)
    return verdict, wording.level(stretches, parts, whole, rise, limit)


def _pace(leaking: Sequence[Window]) -> float:
    """The middle pace of the windows in which it leaks."""
    paces = sorted(window.growth / window.settled_seconds for window in leaking)
    return paces[len(paces) // 2]


def _too_little(series: Sequence[Point]) -> str:
    if len(series) >= LEAST_POINTS:
        return f"all {len(series):,} measurements are of the same moment"
    length = series[-1].seconds - series[0].seconds if series else 0.0
    over = f" over {duration(length)}" if length > 0 else ""
    return f"{len(series)} of at least {LEAST_POINTS} measurements{over}"
