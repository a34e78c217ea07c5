"""The measured tables as values: corrections of kernels, the host's pace, gaps between kernels, and intervals."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from tonnage.cluster.gpus import GpuType
from tonnage.timing import measured_h200
from tonnage.timing.corrections import Corrections
from tonnage.timing.host import HostPace


@dataclass(frozen=True, slots=True)
class Calibration:
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
    table = measured_h200
    return Calibration(
        gpu=table.GPU,
        corrections=Corrections(table.POINTS),
        host=HostPace(**table.HOST),
        gap=table.GAP,
        spread=table.SPREAD,
        spread_by_kind=table.SPREAD_BY_KIND,
        carried_spread=table.CARRIED_SPREAD,
    )
