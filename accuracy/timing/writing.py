"""Writes the fitted table as a module of the package."""

from __future__ import annotations

import json
from pathlib import Path

from tonnage.timing import measured_h200
from tonnage.timing.calibration import Calibration
from tonnage.timing.corrections import Point, written

_HEAD = '''"""Measured corrections of an H200. Made by `accuracy/timing/fit.py`; not written by hand."""

from __future__ import annotations

from typing import Any

GPU = "h200"
GAP = {gap!r}
SPREAD = {spread!r}
SPREAD_BY_KIND: dict[str, float] = {by_kind}
CARRIED_SPREAD = {carried!r}
HOST: dict[str, Any] = {host}
POINTS: dict[str, str] = {{
'''


def write_table(measured: Calibration, points: dict[str, tuple[Point, ...]]) -> None:
    """The module that `calibration()` reads."""
    host = {
        "by_phase": measured.host.by_phase,
        "by_kind": measured.host.by_kind,
        "casts": measured.host.casts,
        "per_list_tensor": measured.host.per_list_tensor,
        "renaming": measured.host.renaming,
    }
    text = _HEAD.format(
        gap=measured.gap,
        spread=round(measured.spread, 3),
        by_kind=json.dumps(measured.spread_by_kind),
        carried=measured.carried_spread,
        host="{\n"
        + "".join(f"    {json.dumps(key)}: {json.dumps(value)},\n" for key, value in host.items())
        + "}",
    )
    for family, inside in points.items():
        text += f'    {json.dumps(family)}: """\\\n{written(inside)}""",\n'
    Path(measured_h200.__file__).write_text(text + "}\n")
