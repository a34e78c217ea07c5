"""From what is asked to an estimate: trace where there is a step, fall back to the shape where it cannot be traced.

Each way is a module of its own, loaded when it is taken: a described model is answered before a tracer is loaded.
"""

from __future__ import annotations

import msgspec

from tonnage.cli.estimate_asking import Asked
from tonnage.cluster.gpus import GpuType
from tonnage.memory.estimate import Estimate
from tonnage.memory.trace import Trace
from tonnage.reporting.estimate import EstimateView, Fit, fit_on


class Answer(msgspec.Struct, frozen=True):
    """The view, and the trace behind it where something is drawn."""

    view: EstimateView
    trace: Trace | None
    gpu: GpuType


def answer(asked: Asked, *, draws: bool = False) -> Answer:
    """The estimate on every GPU asked about; the first one's is shown. Raise CannotTrace where nothing answers."""
    why_not_exact = ""
    if asked.step is not None:
        from tonnage.cli.estimate_step import from_step

        found = from_step(asked, asked.step)
        if isinstance(found, Answer):
            return found
        why_not_exact = found
    from tonnage.cli.estimate_shape import from_shape

    assert asked.shape is not None
    return from_shape(asked, asked.shape, why_not_exact, draws=draws)


def fits_of(asked: Asked, estimates: list[Estimate]) -> tuple[Fit, ...]:
    """Whether it fits the GPUs asked about; nothing where none was."""
    if not asked.asks_fit:
        return ()
    return tuple(fit_on(each, gpu) for each, gpu in zip(estimates, asked.gpus, strict=True))
