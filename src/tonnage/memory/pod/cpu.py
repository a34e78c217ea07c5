"""Cores: what ranks and loader workers keep busy, and what a limit below that costs.

The thread that launches kernels must never wait for a core: every stall is a hole in the GPU's work. A loader
worker keeps one core busy while it makes a batch. Compiling is a burst at the start: it belongs into the limit
and not into the request.

Throttling, as a model: a container with a limit of L cores does at most L core-seconds of work in a second. A
step that needs C core-seconds therefore takes at least C / L, however fast the GPU is, and the rest of the time
the GPU waits. Below one core per rank the launching thread itself is stopped, in slices of 100 ms.
"""

from __future__ import annotations

import msgspec

from tonnage.figures import plural
from tonnage.memory.pod import constants as c
from tonnage.memory.pod.needs import CpuNeed, NeedPart
from tonnage.memory.pod.ram import compile_workers
from tonnage.memory.pod.wish import PodWish

COMPILING = "compile workers"


def cpu_need(wish: PodWish) -> CpuNeed:
    """What to request and what to allow, in thousandths of a core."""
    each = c.CORES_PER_GPU_RANK if wish.gpus else c.CORES_PER_CPU_RANK
    parts = [
        NeedPart(
            "ranks",
            wish.ranks * each,
            f"{plural(wish.ranks, 'rank')} x {each / 1000:g} cores",
            "estimated",
            "processesPerNode",
        ),
        _workers(wish),
    ]
    parts = [part for part in parts if part.amount]
    request = sum(part.amount for part in parts)
    burst = wish.ranks * min(compile_workers(wish), c.CORES_WHILE_COMPILING) * 1000 if wish.compiles else 0
    if burst:
        formula = (
            f"{plural(wish.ranks, 'rank')} x {burst // wish.ranks // 1000} cores while compiling, in the limit only; "
            f"{plural(compile_workers(wish), 'worker')} each could use more"
        )
        parts.append(NeedPart(COMPILING, burst, formula, "estimated", "env TORCHINDUCTOR_COMPILE_THREADS"))
    return CpuNeed(request, request + burst, tuple(parts))


class Throttled(msgspec.Struct, frozen=True):
    """A step under a limit of cores."""

    step_seconds: float
    gpu_idle_share: float
    """Part of the time the GPU waits for cores."""

    @property
    def is_slower(self) -> bool:
        return self.gpu_idle_share > 0


def throttled(step_seconds: float, cpu_seconds_per_step: float, limit_milli: int) -> Throttled:
    """How long a step takes when its CPU work is held to a limit.

    >>> throttled(1.0, 8.0, 4000)
    Throttled(step_seconds=2.0, gpu_idle_share=0.5)
    """
    if step_seconds <= 0:
        return Throttled(0.0, 0.0)
    least = cpu_seconds_per_step * 1000 / limit_milli if limit_milli > 0 else float("inf")
    slowed = max(step_seconds, least)
    return Throttled(slowed, 1.0 - step_seconds / slowed)


def cpu_seconds(wish: PodWish, step_seconds: float) -> float:
    """Core-seconds of one step of the pod: ranks are busy all the time, workers as long as samples take.

    Where it is not known what a sample takes, workers are taken to be busy all the time: the most it can be.
    """
    each = c.CORES_PER_GPU_RANK if wish.gpus else c.CORES_PER_CPU_RANK
    ranks = step_seconds * wish.ranks * each / 1000
    if wish.cpu_seconds_per_sample is not None and wish.samples_per_second is not None:
        samples = wish.samples_per_second * step_seconds
        return ranks + wish.ranks * samples * wish.cpu_seconds_per_sample
    return ranks + step_seconds * _workers(wish).amount / 1000


def _workers(wish: PodWish) -> NeedPart:
    workers = wish.loader.workers
    busy = workers * c.CORES_PER_WORKER
    formula = f"{plural(wish.ranks, 'rank')} x {plural(workers, 'worker')} x one core"
    if wish.cpu_seconds_per_sample is not None and wish.samples_per_second is not None:
        wanted = int(1000 * wish.cpu_seconds_per_sample * wish.samples_per_second)
        busy = min(busy, wanted)
        rate = f"{wish.samples_per_second:g} samples/s x {wish.cpu_seconds_per_sample:g} core-seconds"
        formula = f"{plural(wish.ranks, 'rank')} x {rate}, at most {workers} cores"
        return NeedPart("loader workers", wish.ranks * busy, formula, "computed", "train.loader.workers")
    return NeedPart("loader workers", wish.ranks * busy, formula, "estimated", "train.loader.workers")
