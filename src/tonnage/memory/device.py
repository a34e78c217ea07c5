"""What of the device and the process decides how an operation works inside: the little that rules may ask."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from tonnage.cluster.gpu_facts import facts_of
from tonnage.cluster.gpus import GpuType

THREADS_PER_MULTIPROCESSOR = {(7, 5): 1024, (8, 6): 1536, (8, 7): 1536, (8, 9): 1536, (12, 0): 1536}
"""Where it is not 2048 (CUDA programming guide, compute capabilities)."""


class Device(msgspec.Struct, frozen=True):
    """A GPU as kernels see it, and the settings of the process that runs them."""

    compute: tuple[int, int]
    multiprocessors: int
    settings: Mapping[str, str] = msgspec.field(default_factory=dict)

    @property
    def threads_per_multiprocessor(self) -> int:
        return THREADS_PER_MULTIPROCESSOR.get(self.compute, 2048)


def device_of(gpu: GpuType, settings: Mapping[str, str] | None = None) -> Device:
    """The device of this type under these settings."""
    return Device(gpu.compute, facts_of(gpu).sm_count, settings or {})
