"""What a probe of a few steps teaches: the peak of each phase, and the memory to ask for.

The limit is the highest peak and a fifth more, because one short run has seen one set of batches. A run that grew from
step to step is told so, and what it would hold after its last step is what to ask for; where nobody knows how many
steps that is, no limit is large enough. What page cache held is not counted where the kernel tells it apart: it is
given back under pressure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from tonnage.memory.series import Point, growth_of

MARGIN = 0.2
_MIB = 2**20


class PhasePeak(msgspec.Struct, frozen=True, rename="camel"):
    """The most memory held while a phase was open."""

    name: str
    bytes: int


class ProbeView(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The answer of `run --probe`."""

    steps: int | None
    phases: tuple[PhasePeak, ...]
    peak: int | None
    propose: int | None
    """Request and limit in bytes."""
    reason: str
    gpu_peak: int | None = None
    gpu_total: int | None = None
    seconds_per_step: float | None = None
    save_seconds: float | None = None
    checkpoint_bytes: int | None = None
    growth_per_step: int | None = None
    total: int | None = None
    """Steps the whole run makes, where it says so."""
    at_the_end: int | None = None
    """What it would hold after the last of them, if it goes on growing."""


def view_probe(
    records: Sequence[Mapping[str, Any]], series: Mapping[int, Sequence[Point]] | None = None
) -> ProbeView:
    """What the agents of a probe saw, over all nodes; `series` is what each node needed over time."""
    phases = _phases(records)
    peak = max([*phases.values(), *_numbers(records, "memory", ("neededPeak", "peak"))], default=None)
    if peak is not None and peak > max(phases.values(), default=0):
        phases["step"] = peak  # it was reached while no other phase was open
    per_step = max((float(r["stepSeconds"]) for r in records if "stepSeconds" in r), default=None)
    growth = max(
        (_growth(record, (series or {}).get(int(record.get("node", 0)))) for record in records), default=0.0
    )
    per_step_bytes = round(growth * per_step) if growth > 0 and per_step else None
    steps = max((int(r["step"]) + 1 for r in records if "step" in r), default=None)
    total = max((int(r["total"]) for r in records if "total" in r), default=None)
    end = None
    if peak is not None and per_step_bytes and steps is not None and total is not None and total > steps:
        end = peak + per_step_bytes * (total - steps)
    gpus = [gpu for record in records for gpu in record.get("gpus", ())]
    checkpoint: Mapping[str, Any] = next(
        (record["checkpoint"] for record in records if "checkpoint" in record), {}
    )
    where = max(phases, key=lambda name: phases[name]) if phases else ""
    return ProbeView(
        steps=steps,
        phases=tuple(
            PhasePeak(name, held) for name, held in sorted(phases.items(), key=lambda item: -item[1])
        ),
        peak=peak,
        propose=None if peak is None else -(-int((end or peak) * (1 + MARGIN)) // _MIB) * _MIB,
        reason=f"{_what(where, is_end=end is not None)} + {round(100 * MARGIN)} %",
        gpu_peak=max((int(gpu.get("peak") or gpu.get("used") or 0) for gpu in gpus), default=None),
        gpu_total=max((int(gpu.get("total") or 0) for gpu in gpus), default=None),
        seconds_per_step=per_step,
        save_seconds=checkpoint.get("seconds"),
        checkpoint_bytes=checkpoint.get("bytes"),
        growth_per_step=per_step_bytes,
        total=total,
        at_the_end=end,
    )


def _what(where: str, *, is_end: bool) -> str:
    if is_end:
        return "that"
    return f"peak (in {where})" if where else "peak"


def _growth(record: Mapping[str, Any], points: Sequence[Point] | None) -> float:
    """Bytes per second since its first step: by the series where there is one, else as the agent saw it."""
    if not points:
        return float((record.get("memory") or {}).get("growthPerSecond") or 0)
    made = float(record.get("stepSeconds") or 0) * (int(record.get("step") or 0) + 1)
    since = float(record.get("stepAt") or 0) - made
    growth = growth_of(
        [point for point in points if since <= point.seconds <= float(record.get("stepAt") or 0)]
    )
    return growth.bytes_per_second if growth.is_growing else 0.0


def _phases(records: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """The highest peak of each phase on any node."""
    found: dict[str, int] = {}
    for record in records:
        memory = record.get("memory") or {}
        for name, held in (memory.get("neededPhases") or memory.get("phases") or {}).items():
            found[name or "step"] = max(found.get(name or "step", 0), int(held))
    return found


def _numbers(records: Sequence[Mapping[str, Any]], part: str, names: Sequence[str]) -> list[int]:
    """The first of these names that a record has, of each record."""
    found = []
    for record in records:
        values = record.get(part) or {}
        known = [int(values[name]) for name in names if values.get(name) is not None]
        found += known[:1]
    return found
