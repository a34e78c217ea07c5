"""The host's pace, from steps in which nothing else counts.

Each phase of a small step, and each whole step whose GPU waited for the host, is a sum of calls by phase and kind:
least squares finds what one call costs. Renamings of memory are left out because a trace does not hold them: their
cost is part of the calls around them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from accuracy.timing.least_squares import non_negative
from tonnage.memory.trace import Trace
from tonnage.timing.memory_bound import WITHOUT_KERNEL
from tonnage.timing.reading import work_of
from tonnage.timing.step import steady_calls
from tonnage.timing.work import base_name

NAMES = ("forward", "backward", "forward cast", "backward cast", "matrix", "convolution", "attention")
# Where the fit starts from and what it is drawn back to where the data say little: seconds per call.
CENTRE = (28e-6, 27e-6, 18e-6, 22e-6, 2e-6, 25e-6, 80e-6)
# Optimizers make few calls: these are read off the optimizer phases of the small steps (20 microseconds a tensor for
# AdamW over lists, 15 tensors of lists each), not fitted.
OPTIMIZER, LISTS, LIST_TENSOR = 13e-6, 15e-6, 1.2e-6

DRAWN_BACK = (0.1, 0.1, 1.0, 1.0, 0.1, 0.2, 1.0)
"""How strongly; few steps tell casts and attention from the rest."""
WHOLE_STEP = 4.0
SLOWER = 1.15
"""Whole steps of other kinds were launched more slowly than the small ones say: libraries' own Python, other hosts.
On the calibration and `fresh` steps 1.2 errs least (p90 falls from 35 % to 28 %), on the others 1.0 to 1.12."""


@dataclass(frozen=True)
class HostRow:
    """Calls of each sort and the seconds they took together."""

    name: str
    counts: tuple[float, ...]
    seconds: float
    whole: bool = False
    at_most: bool = False
    """The host may have waited for room in the queue: it needed no more than this."""


def rows_of_small_steps(steps: Iterable[dict[str, Any]]) -> list[HostRow]:
    """Each phase of each small step; its operations are known by name only."""
    rows = []
    for step in steps:
        for phase in ("forward", "backward"):
            counts: Counter[str] = Counter()
            for name, times in step["operations"][phase].items():
                plain = name.split(".")[1]
                if plain in WITHOUT_KERNEL:
                    continue
                kind = _kind_of_name(plain)
                counts[f"{phase} cast" if plain == "_to_copy" else phase] += times
                if kind:
                    counts[kind] += times
            rows.append(HostRow(f"{step['name']} {phase}", _vector(counts), step["seconds"][phase]))
    return rows


def row_of_trace(trace: Trace, seconds: float, name: str, *, at_most: bool = False) -> HostRow:
    """A whole step, by its trace, less what its optimizer takes."""
    counts: Counter[str] = Counter()
    kinds: dict[int, str] = {}
    rest = seconds
    for call in steady_calls(trace):
        operation = trace.operations[call.operation]
        kind = kinds.setdefault(call.operation, work_of(operation).kind)
        phase = trace.phases[call.phase]
        if kind == "free":
            continue
        if kind == "lists":
            rest -= LISTS + LIST_TENSOR * len(operation.inputs)
        elif phase not in ("forward", "backward"):
            rest -= OPTIMIZER
        else:
            counts[f"{phase} cast" if base_name(operation) == "_to_copy" else phase] += 1
            counts[kind] += 1
    return HostRow(name, _vector(counts), rest, whole=True, at_most=at_most)


def fitted_pace(rows: list[HostRow]) -> dict[str, Any]:
    """Arguments of `HostPace`."""
    costs: list[float] = list(CENTRE)
    for _ in range(12):  # a phase that something else disturbed counts less each time
        weights = [_weight(row, costs) for row in rows]
        ridge = [
            DRAWN_BACK[axis]
            * sum(weight * row.counts[axis] ** 2 for row, weight in zip(rows, weights, strict=True))
            + 1e-9
            for axis in range(len(NAMES))
        ]
        costs = non_negative(
            [row.counts for row in rows], [row.seconds for row in rows], weights, ridge=ridge, centre=CENTRE
        )
    found = {name: round(SLOWER * cost, 8) for name, cost in zip(NAMES, costs, strict=True)}
    phases = {phase: found[phase] for phase in ("forward", "backward")}
    kinds = {kind: found[kind] for kind in ("matrix", "convolution", "attention")}
    return {
        "by_phase": phases | {"optimizer": SLOWER * OPTIMIZER, "other": SLOWER * OPTIMIZER},
        "by_kind": kinds | {"lists": SLOWER * (LISTS - OPTIMIZER)},
        "casts": {phase: found[f"{phase} cast"] for phase in ("forward", "backward")},
        "per_list_tensor": SLOWER * LIST_TENSOR,
        "renaming": 0.0,
    }


def _weight(row: HostRow, costs: list[float]) -> float:
    """Relative errors count alike; whole steps more than phases timed alone; what lies far off, less."""
    told = sum(cost * times for cost, times in zip(costs, row.counts, strict=True))
    if row.at_most and told <= row.seconds:
        return 0.0
    off = abs(told / row.seconds - 1.0)
    return (WHOLE_STEP if row.whole else 1.0) / row.seconds**2 / max(1.0, off / 0.15)


def _vector(counts: Counter[str]) -> tuple[float, ...]:
    return tuple(float(counts.get(name, 0)) for name in NAMES)


def _kind_of_name(plain: str) -> str | None:
    if plain in ("mm", "addmm", "bmm", "baddbmm"):
        return "matrix"
    if plain.startswith("convolution"):
        return "convolution"
    return "attention" if "attention" in plain else None
