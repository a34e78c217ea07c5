"""Seconds of one operation on a device: the first guess, corrected by what was measured."""

from __future__ import annotations

import msgspec

from tonnage.cluster.gpu_facts import facts_of
from tonnage.cluster.gpus import GpuType
from tonnage.memory.trace import Operation
from tonnage.timing.calibration import Calibration, calibration
from tonnage.timing.collective import Interconnect, collective_seconds
from tonnage.timing.reading import work_of
from tonnage.timing.roofline import first_guess, floor
from tonnage.timing.work import Arithmetic, Work


class DeviceTime(msgspec.Struct, frozen=True):
    """Seconds on the device, and how uncertain they are (logarithm)."""

    seconds: float
    spread: float


def operation_seconds(
    operation: Operation,
    gpu: GpuType,
    arithmetic: Arithmetic | None = None,
    *,
    ranks: int = 1,
    interconnect: Interconnect | None = None,
) -> float:
    """Seconds the device is busy with one operation; also for operations that no trace has seen."""
    work = work_of(operation, arithmetic)
    if work.kind == "collective":
        return collective_seconds(work, facts_of(gpu), ranks, interconnect or Interconnect())
    return work_seconds(work, gpu, calibration()).seconds


def work_seconds(work: Work, gpu: GpuType, measured: Calibration) -> DeviceTime:
    """Seconds of a piece of work, never below what the device's peak rates allow."""
    if work.kind == "free":
        return DeviceTime(0.0, 0.0)
    facts = facts_of(gpu)
    correction = measured.corrections.of(work.kind, work.family, work.features)
    seconds = first_guess(work, facts) * correction.factor
    return DeviceTime(max(seconds, floor(work, facts)), correction.spread)
