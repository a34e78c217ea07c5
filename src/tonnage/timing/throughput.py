"""From a step to a run: samples per second, hours to the end, and what the GPUs really get to do.

Seconds of a step are an interval, and so is everything that follows from it: the slow end of the step is the slow
end of the throughput.
"""

from __future__ import annotations

import msgspec

from tonnage.cluster.gpu_facts import Rate, facts_of
from tonnage.cluster.gpus import GpuType
from tonnage.memory.estimate import Interval

_HOUR = 3600.0


class Throughput(msgspec.Struct, frozen=True):
    """What one step after the other comes to; every interval is p10, p50, p90 of its own figure."""

    step_seconds: Interval
    """With the wait for data, where there is one."""
    samples_per_second: Interval
    tokens_per_second: Interval | None
    hours_to_end: Interval | None
    idle_share: Interval
    """Share of the time the GPUs wait for the data loader."""
    loader_is_bottleneck: bool


def throughput(
    step_seconds: Interval,
    *,
    samples_per_step: float,
    tokens_per_sample: float | None = None,
    steps: float | None = None,
    loader_samples_per_second: float | None = None,
) -> Throughput:
    """The pace of a run whose step takes that long; `samples_per_step` is the global batch.

    The loader runs beside the step: it costs nothing until a batch takes longer to load than to train on.
    """
    if samples_per_step <= 0:
        raise ValueError(f"a step needs samples, not {samples_per_step}")
    if loader_samples_per_second is not None and loader_samples_per_second <= 0:
        raise ValueError(f"a loader must give something, not {loader_samples_per_second} samples per second")
    loading = samples_per_step / loader_samples_per_second if loader_samples_per_second else 0.0
    whole = Interval(
        *(max(seconds, loading) for seconds in (step_seconds.p10, step_seconds.p50, step_seconds.p90))
    )
    samples = _inverse(whole, samples_per_step)
    idle = Interval(
        _idle(step_seconds.p90, loading), _idle(step_seconds.p50, loading), _idle(step_seconds.p10, loading)
    )
    return Throughput(
        step_seconds=whole,
        samples_per_second=samples,
        tokens_per_second=_times(samples, tokens_per_sample) if tokens_per_sample else None,
        hours_to_end=_times(whole, steps / _HOUR) if steps is not None else None,
        idle_share=idle,
        loader_is_bottleneck=loading > step_seconds.p50,
    )


def model_flops_utilisation(
    step_seconds: Interval, model_flops: float, gpu: GpuType, *, gpus: int = 1, rate: Rate = "bf16"
) -> Interval:
    """The model's arithmetic in one step, without what is recomputed, over what the GPUs could do in that time."""
    if gpus <= 0:
        raise ValueError(f"a step needs GPUs, not {gpus}")
    return _inverse(step_seconds, model_flops / (facts_of(gpu).peak(rate) * gpus))


def _idle(seconds: float, loading: float) -> float:
    return max(0.0, 1.0 - seconds / loading) if loading else 0.0


def _times(interval: Interval, factor: float) -> Interval:
    return Interval(interval.p10 * factor, interval.p50 * factor, interval.p90 * factor)


def _inverse(interval: Interval, amount: float) -> Interval:
    """An amount per second: the slow end of the seconds is the low end of the rate."""
    return Interval(amount / interval.p90, amount / interval.p50, amount / interval.p10)
