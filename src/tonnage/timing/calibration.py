"""The measured tables as values: corrections of kernels, the host's pace, gaps between kernels, and intervals.

`measured_h200.json` is written by `accuracy/timing/fit.py`, never by hand.
"""

from __future__ import annotations

from functools import lru_cache

import msgspec

from tonnage.cluster.gpus import GpuType
from tonnage.tables import read_table
from tonnage.timing.corrections import Corrections, Point
from tonnage.timing.host import HostPace

TABLE = "measured_h200.json"


class MeasuredTable(msgspec.Struct, frozen=True):
    """What lies in the file; the fields are those of `Calibration`."""

    gpu: str
    gap: float
    spread: float
    spread_by_kind: dict[str, float]
    carried_spread: float
    host: HostPace
    points: dict[str, tuple[Point, ...]]
    """Every measured place of every family of operations, as `kind:family`."""


class Calibration(msgspec.Struct, frozen=True):
    """What was measured, and on which device."""

    gpu: str
    corrections: Corrections
    host: HostPace
    gap: float
    """Seconds between two kernels of one queue when the second has long been asked for."""
    spread: float
    """Logarithmic half-width of the 80 % interval of a whole step on the measured device."""
    spread_by_kind: dict[str, float]
    """What is added to it in proportion to the share of time spent in a kind of work, or waiting for the `host`."""
    carried_spread: float
    """What is added to it on a device that was not measured."""

    def speaks_for(self, gpu: GpuType) -> bool:
        """Whether this is the device it was measured on."""
        return gpu.name == self.gpu


@lru_cache(maxsize=1)
def calibration() -> Calibration:
    """The committed calibration."""
    table = read_table("tonnage.timing", TABLE, MeasuredTable)
    return Calibration(
        gpu=table.gpu,
        corrections=Corrections(table.points),
        host=table.host,
        gap=table.gap,
        spread=table.spread,
        spread_by_kind=table.spread_by_kind,
        carried_spread=table.carried_spread,
    )
