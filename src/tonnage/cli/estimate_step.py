"""The exact answer of `tonnage estimate`: the user's own step, traced for every GPU asked about."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from tonnage.cli.estimate_answering import Answer, fits_of
from tonnage.cli.estimate_asking import Asked, StepAsked
from tonnage.cluster.gpus import GpuType
from tonnage.errors import Problem, RefusedError
from tonnage.memory.allocator import SettingsError, read_settings
from tonnage.memory.estimate import Estimate
from tonnage.memory.exact import exact_estimate
from tonnage.memory.trace import Trace
from tonnage.reporting.estimate import EstimateView
from tonnage.timing.step import step_time
from tonnage.tracing import CannotTrace, TraceRequest, parse_step, trace_step
from tonnage.tracing.failures import in_one_line


def from_step(asked: Asked, step: StepAsked) -> Answer | str:
    """The traced answer, or in a line why there is none where a shape stands in; raise CannotTrace where none does."""
    try:
        return _traced(asked, step)
    except CannotTrace as failure:
        if asked.shape is None:
            raise
        return in_one_line(failure.problems[0])


def _traced(asked: Asked, step: StepAsked) -> Answer:
    traces: dict[tuple[int, int], Trace] = {}
    estimates: list[Estimate] = []
    for gpu in asked.gpus:
        # What a step does depends on the GPU by its compute capability: kernels are chosen by it.
        if gpu.compute not in traces:
            traces[gpu.compute] = _trace(step, gpu)
            _refuse_what_is_not_taken(step, traces[gpu.compute], has_shape=asked.shape is not None)
        estimates.append(_with_notes(_exact(traces[gpu.compute], gpu), step, traces[gpu.compute]))
    trace = traces[asked.gpus[0].compute]
    view = EstimateView(
        subject=step.text,
        estimate=estimates[0],
        fits=fits_of(asked, estimates),
        knobs=tuple(trace.knobs.items()),
        fixed=trace.fixed,
    )
    return Answer(view, trace, asked.gpus[0])


def _trace(step: StepAsked, gpu: GpuType) -> Trace:
    file, function = parse_step(step.text)
    knobs = dict(step.knobs)
    with _settings_refused(os.environ):
        read_settings(os.environ)  # torch itself may crash on them, which would say less
    return trace_step(
        TraceRequest(
            file=file,
            function=function,
            gpu=gpu,
            python=step.python,
            world_size=step.world_size,
            rank=step.rank,
            knobs=knobs,
        )
    )


def _not_taken(step: StepAsked, trace: Trace) -> list[str]:
    """What was asked for and has no ear in the user's function."""
    return [name for name, _ in step.knobs if name in trace.fixed]


def _refuse_what_is_not_taken(step: StepAsked, trace: Trace, *, has_shape: bool) -> None:
    """Where a shape stands by, the same words describe it, so they need not be meant for the function."""
    unknown = _not_taken(step, trace)
    if not unknown or has_shape:
        return
    file, function = parse_step(step.text)
    raise RefusedError(
        Problem(
            code="EST-010",
            what=f"{function}() does not take {', '.join(unknown)}",
            where=str(file),
            hint=f"name it as a keyword argument: def {function}(*, {unknown[0]}=...)",
        )
    )


def _with_notes(estimate: Estimate, step: StepAsked, trace: Trace) -> Estimate:
    unknown = _not_taken(step, trace)
    if not unknown:
        return estimate
    _, function = parse_step(step.text)
    note = f"{function}() does not take {', '.join(unknown)}: its own was traced"
    return replace(estimate, notes=(*estimate.notes, note))


def _exact(trace: Trace, gpu: GpuType) -> Estimate:
    with _settings_refused(trace.settings):
        return exact_estimate(trace, gpu, step_seconds=step_time(trace, gpu))


@contextlib.contextmanager
def _settings_refused(environment: Mapping[str, str]) -> Iterator[None]:
    """Settings that torch would not take, said as such."""
    try:
        yield
    except SettingsError as error:
        raise RefusedError(
            Problem(
                code="EST-011",
                what=f"torch will not start with these allocator settings: {error}",
                where="PYTORCH_CUDA_ALLOC_CONF",
                found=environment.get("PYTORCH_CUDA_ALLOC_CONF") or environment.get("PYTORCH_ALLOC_CONF"),
            )
        ) from error
