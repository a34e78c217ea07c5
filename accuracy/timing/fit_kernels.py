"""Corrections of the first guess, from operations timed alone and in real steps.

An operation timed alone includes the gap to the next launch, one in a profile does not: gaps are taken out, and
come back between kernels when a step is played. A real step's figure counts more than a trial's: it met the cache
as training leaves it, and the clocks of a chip under load. Near-equal points are merged, which keeps the table small.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable

from accuracy.timing.results import Timed
from tonnage.cluster.gpu_facts import facts_of
from tonnage.cluster.gpus import find_gpu
from tonnage.timing.corrections import Point
from tonnage.timing.reading import work_of
from tonnage.timing.roofline import first_guess

ELEMENTWISE = frozenset(
    """add mul sub div silu silu_backward gelu gelu_backward tanh tanh_backward pow where masked_fill threshold_backward
    copy neg relu native_dropout native_dropout_backward exp rsqrt sigmoid sigmoid_backward hardswish hardswish_backward
    """.split()
)
"""Families that also speak for elementwise operations nobody measured."""
IN_STEP_WEIGHT = 4.0
GRID = 5.0
"""Merged points are this many to an octave."""
COARSE_GRID = 1.5
"""And in those that speak for unknown operations."""


def fitted_points(timed: Iterable[Timed], gap: float) -> dict[str, tuple[Point, ...]]:
    """Points by family, merged and sorted."""
    gpu = find_gpu("h200")
    assert gpu is not None
    facts = facts_of(gpu)
    found: dict[str, list[Point]] = defaultdict(list)
    for each in timed:
        work = work_of(each.operation, each.arithmetic)
        if work.kind in ("free", "collective"):
            continue
        seconds = each.seconds - (gap * work.kernels if each.alone and work.kind != "moving" else 0.0)
        guess = first_guess(work, facts)
        value = math.log(max(seconds, 0.3e-6) / guess)
        weight = 1.0 if each.alone else IN_STEP_WEIGHT
        point = (work.features, value, weight)
        found[f"{work.kind}:{work.family}"].append(point)
        if work.kind == "memory" and work.family in ELEMENTWISE:
            found["memory:*"].append(point)
        if work.kind in ("matrix", "convolution", "lists"):
            found[f"{work.kind}:*"].append(point)
    return {
        family: _merged(points, COARSE_GRID if family.endswith("*") else GRID)
        for family, points in sorted(found.items())
    }


def _merged(points: list[Point], grid: float) -> tuple[Point, ...]:
    """One point for all that lie in the same cell of the grid."""
    cells: dict[tuple[int, ...], list[Point]] = defaultdict(list)
    for point in points:
        cells[tuple(round(value * grid) for value in point[0])].append(point)
    merged = []
    for inside in cells.values():
        total = sum(weight for *_, weight in inside)
        place = tuple(
            round(sum(weight * features[axis] for features, _, weight in inside) / total, 2)
            for axis in range(len(inside[0][0]))
        )
        value = sum(weight * value for _, value, weight in inside) / total
        merged.append((place, round(value, 3), round(min(total, 3 * IN_STEP_WEIGHT), 1)))
    return tuple(sorted(merged))
