"""Timing on the device: how long the GPU works on an operation, and how long the host needs to ask for it.

Small kernels are over before the host has asked for the next one, so a plain loop times the host. Here the GPU
is first put to sleep; the host queues all repetitions behind it, and the two events around them then see the
GPU alone, with the gaps between kernels that a busy step has too. In a dry run, on tensors
without data, only the host is timed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import torch

_CYCLES_PER_SECOND = 2.0e9
_MOST_QUEUED = 400
"""Launches; the driver's queue holds 1,024, and beyond it the host would wait for the sleeper."""


@dataclass(frozen=True)
class Timing:
    """Seconds per repetition: on the GPU, and of the host's own thread."""

    gpu: float
    host: float
    repetitions: int


class Clock:
    """Times a callable on the device, or on the CPU in a dry run."""

    def __init__(self, device: str) -> None:
        self.device = device
        self.on_gpu = device == "cuda"

    def time(self, run: Callable[[], object], *, budget: float = 0.012, kernels: int = 4) -> Timing:
        """Seconds of one repetition; `kernels` bounds how many launches one repetition makes."""
        run()
        self.wait()
        begin = time.perf_counter()
        run()
        host = time.perf_counter() - begin
        self.wait()
        rough = time.perf_counter() - begin
        repetitions = max(3, min(25, int(budget / max(rough, 1e-6)), _MOST_QUEUED // kernels))
        if not self.on_gpu:
            return Timing(rough, host, 1)
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        asleep = min(2.0 * repetitions * host + 5e-5, 0.02)
        torch.cuda._sleep(int(asleep * _CYCLES_PER_SECOND))
        start.record()
        begin = time.perf_counter()
        for _ in range(repetitions):
            run()
        host = (time.perf_counter() - begin) / repetitions
        end.record()
        self.wait()
        return Timing(start.elapsed_time(end) / 1e3 / repetitions, host, repetitions)

    def wait(self) -> None:
        """Until the device has done all it was asked for."""
        if self.on_gpu:
            torch.cuda.synchronize()
