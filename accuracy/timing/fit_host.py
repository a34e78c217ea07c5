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
from tonnage.memory.trace import Operation, Trace
from tonnage.timing.memory_bound import WITHOUT_KERNEL
from tonnage.timing.reading import work_of
from tonnage.timing.step import steady_calls

NAMES = (
    "forward",
    "backward",
    "optimizer",
    "matrix",
    "convolution",
    "attention",
    "lists",
    "list tensor",
    "normal",
)
# Where the fit starts from and what it is drawn back to where the data say nothing: seconds per call.
CENTRE = (24e-6, 18e-6, 15e-6, 4e-6, 20e-6, 30e-6, 15e-6, 1.2e-6, 0.0)


@dataclass(frozen=True)
class HostRow:
    """Calls of each sort and the seconds they took together."""

    name: str
    counts: tuple[float, ...]
    seconds: float


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
                counts[phase] += times
                kind = _kind_of_name(plain)
                if kind:
                    counts[kind] += times
            rows.append(HostRow(f"{step['name']} {phase}", _vector(counts), step["seconds"][phase]))
    return rows


def row_of_trace(trace: Trace, seconds: float, name: str) -> HostRow:
    """A whole step, by its trace."""
    counts: Counter[str] = Counter()
    kinds: dict[int, str] = {}
    for call in steady_calls(trace):
        operation = trace.operations[call.operation]
        kind = kinds.setdefault(call.operation, work_of(operation).kind)
        if kind == "free":
            continue
        phase = trace.phases[call.phase]
        counts[phase if phase in ("forward", "backward") else "optimizer"] += 1
        if kind in ("matrix", "convolution", "attention", "lists"):
            counts[kind] += 1
        if kind == "lists":
            counts["list tensor"] += len(operation.inputs)
    return HostRow(name, _vector(counts), seconds)


def fitted_pace(rows: list[HostRow]) -> dict[str, Any]:
    """Arguments of `HostPace`."""
    weights = [1.0 / max(row.seconds, 1e-4) ** 2 for row in rows]
    typical = [sum(row.counts[axis] for row in rows) / len(rows) for axis in range(len(NAMES))]
    ridge = [0.02 * sum(w * (row.counts[axis] ** 2) for row, w in zip(rows, weights, strict=True)) + 1e-9 * (typical[axis] == 0)
             for axis in range(len(NAMES))]  # fmt: skip
    found = dict(
        zip(
            NAMES,
            non_negative(
                [row.counts for row in rows],
                [row.seconds for row in rows],
                weights,
                ridge=ridge,
                centre=CENTRE,
            ),
            strict=True,
        )
    )
    phases = {phase: round(found[phase], 8) for phase in ("forward", "backward", "optimizer")}
    return {
        "by_phase": phases | {"other": phases["optimizer"]},
        "by_kind": {kind: round(found[kind], 8) for kind in ("matrix", "convolution", "attention", "lists")},
        "per_list_tensor": round(found["list tensor"], 9),
        "renaming": 0.0,
    }


def _vector(counts: Counter[str]) -> tuple[float, ...]:
    return tuple(float(counts.get(name, 0)) for name in NAMES)


def _kind_of_name(plain: str) -> str | None:
    if plain in ("mm", "addmm", "bmm", "baddbmm"):
        return "matrix"
    if plain.startswith("convolution"):
        return "convolution"
    return "attention" if "attention" in plain else None


def is_free(operation: Operation) -> bool:
    """Whether a call asks nothing of the device."""
    return work_of(operation).kind == "free"
