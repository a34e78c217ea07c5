"""What a probe of a few steps teaches: the peak of each phase, and the memory to ask for.

The limit is the highest peak and a fifth more, because one short run has seen one set of batches; a run that grew
while it was probed is told so, since no limit is large enough for a leak. What page cache held is not counted where
the kernel tells it apart: it is given back under pressure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

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


def view_probe(records: Sequence[Mapping[str, Any]]) -> ProbeView:
    """What the agents of a probe saw, over all nodes."""
    phases = _phases(records)
    peak = max([*phases.values(), *_numbers(records, "memory", ("neededPeak", "peak"))], default=None)
    if peak is not None and peak > max(phases.values(), default=0):
        phases["step"] = peak  # it was reached while no other phase was open
    per_step = max((float(r["stepSeconds"]) for r in records if "stepSeconds" in r), default=None)
    growth = max(
        (float(r["memory"].get("growthPerSecond") or 0) for r in records if "memory" in r), default=0.0
    )
    gpus = [gpu for record in records for gpu in record.get("gpus", ())]
    checkpoint: Mapping[str, Any] = next(
        (record["checkpoint"] for record in records if "checkpoint" in record), {}
    )
    where = max(phases, key=lambda name: phases[name]) if phases else ""
    return ProbeView(
        steps=max((int(r["step"]) + 1 for r in records if "step" in r), default=None),
        phases=tuple(
            PhasePeak(name, held) for name, held in sorted(phases.items(), key=lambda item: -item[1])
        ),
        peak=peak,
        propose=None if peak is None else -(-int(peak * (1 + MARGIN)) // _MIB) * _MIB,
        reason=f"the peak{f' (in {where})' if where else ''} and {MARGIN:.0%} more",
        gpu_peak=max((int(gpu.get("peak") or gpu.get("used") or 0) for gpu in gpus), default=None),
        gpu_total=max((int(gpu.get("total") or 0) for gpu in gpus), default=None),
        seconds_per_step=per_step,
        save_seconds=checkpoint.get("seconds"),
        checkpoint_bytes=checkpoint.get("bytes"),
        growth_per_step=round(growth * per_step) if growth > 0 and per_step else None,
    )


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
