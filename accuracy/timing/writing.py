"""Writes the fitted table that `calibration()` reads: JSON beside it, a family of operations to a line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tonnage.timing import calibration as reader
from tonnage.timing.calibration import Calibration
from tonnage.timing.corrections import Point

TARGET = Path(reader.__file__).with_name(reader.TABLE)


def write_table(measured: Calibration, points: dict[str, tuple[Point, ...]], target: Path = TARGET) -> None:
    """The fitted figures as the package's table."""
    host = measured.host
    figures: dict[str, Any] = {
        "gpu": measured.gpu,
        "gap": measured.gap,
        "spread": round(measured.spread, 3),
        "spread_by_kind": measured.spread_by_kind,
        "carried_spread": measured.carried_spread,
        "host": {
            "by_phase": host.by_phase,
            "by_kind": host.by_kind,
            "casts": host.casts,
            "per_list_tensor": host.per_list_tensor,
            "renaming": host.renaming,
        },
    }
    lines = [f"{json.dumps(name)}:{_compact(figure)}" for name, figure in figures.items()]
    families = [f"{json.dumps(family)}:{_compact(_rows(inside))}" for family, inside in points.items()]
    target.write_text("{" + ",\n".join(lines) + ',\n"points":{\n' + ",\n".join(families) + "\n}}\n")


def _rows(points: tuple[Point, ...]) -> list[Any]:
    return [
        [[_short(feature) for feature in place], _short(value), _short(weight)]
        for place, value, weight in points
    ]


def _short(number: float) -> float | int:
    """Six digits: more than any clock measured."""
    rounded = float(f"{number:g}")
    return int(rounded) if rounded.is_integer() else rounded


def _compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))
