"""From what is asked to an estimate: trace where there is a step, fall back to the shape where it cannot be traced."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from tonnage.cli.estimate_asking import Asked, ShapeAsked, StepAsked
from tonnage.cluster.gpus import GpuType
from tonnage.errors import DocumentError, Problem, RefusedError
from tonnage.memory.allocator import OutOfMemoryError, SettingsError, read_settings
from tonnage.memory.device import device_of
from tonnage.memory.estimate import Estimate
from tonnage.memory.exact import exact_estimate
from tonnage.memory.peak import profile
from tonnage.memory.program import program_of
from tonnage.memory.shapes import ModelShape
from tonnage.memory.trace import Trace
from tonnage.reporting.estimate import EstimateView, Fit, fit_on
from tonnage.timing.shape import shape_step_time
from tonnage.timing.step import step_time
from tonnage.tracing import CannotTrace, TraceRequest, parse_step, trace_step
from tonnage.tracing.failures import in_one_line


@dataclass(frozen=True, slots=True)
class Answer:
    """The view, and the trace behind it: a timeline is drawn from that."""

    view: EstimateView
    trace: Trace
    gpu: GpuType


def answer(asked: Asked, *, draws: bool = False) -> Answer:
    """The estimate on every GPU asked about; the first one's is shown. Raise CannotTrace where nothing answers."""
    why_not_exact = ""
    if asked.step is not None:
        try:
            return _from_step(asked, asked.step)
        except CannotTrace as failure:
            if asked.shape is None:
                raise
            why_not_exact = in_one_line(failure.problems[0])
    assert asked.shape is not None
    return _from_shape(asked, asked.shape, why_not_exact, draws=draws)


def _from_step(asked: Asked, step: StepAsked) -> Answer:
    traces: dict[tuple[int, int], Trace] = {}
    estimates: list[Estimate] = []
    for gpu in asked.gpus:
        # What a step does depends on the GPU by its compute capability: kernels are chosen by it.
        if gpu.compute not in traces:
            traces[gpu.compute] = _trace(step, gpu)
        estimates.append(_exact(traces[gpu.compute], gpu))
    trace = traces[asked.gpus[0].compute]
    view = EstimateView(
        subject=step.text,
        estimate=estimates[0],
        fits=_fits(asked, estimates),
        knobs=tuple(trace.knobs.items()),
        fixed=trace.fixed,
    )
    return Answer(view, trace, asked.gpus[0])


def _trace(step: StepAsked, gpu: GpuType) -> Trace:
    file, function = parse_step(step.text)
    knobs = dict(step.knobs)
    with _settings_refused(os.environ):
        read_settings(os.environ)  # torch itself may crash on them, which would say less
    trace = trace_step(
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
    unknown = [name for name in knobs if name in trace.fixed]
    if unknown:
        raise RefusedError(
            Problem(
                code="EST-010",
                what=f"{function}() does not take {', '.join(unknown)}",
                where=str(file),
                hint=f"name it as a keyword argument: def {function}(*, {unknown[0]}=...)",
            )
        )
    return trace


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


def _from_shape(asked: Asked, shape: ShapeAsked, why_not_exact: str, *, draws: bool) -> Answer:
    from tonnage.memory.ledger import shape_estimate, shape_trace

    model = _model(shape)
    first = asked.gpus[0]
    try:
        trace = shape_trace(model, shape.recipe, first.name)
        estimates = [
            shape_estimate(model, shape.recipe, gpu, step_seconds=shape_step_time(model, shape.recipe, gpu))
            for gpu in asked.gpus
        ]
    except OutOfMemoryError as error:
        raise _beyond_any_gpu(error.size) from error
    main = estimates[0]
    if draws:
        found = profile(program_of(trace, device_of(first, trace.settings)))
        main = replace(main, samples=found.samples)
    view = EstimateView(
        subject=_subject(model, shape),
        estimate=main,
        fits=_fits(asked, estimates),
        why_not_exact=why_not_exact,
    )
    return Answer(view, trace, first)


def _beyond_any_gpu(asked: int) -> RefusedError:
    """The allocator model ends at the largest address; only a slip in a number gets there."""
    return RefusedError(
        Problem(
            code="EST-014",
            what="one tensor of this step is larger than any memory that can be addressed",
            found=f"about {asked:.0e} bytes",
            hint="check --batch, --seq, --lora-rank and the model's dimensions for digits too many",
        )
    )


def _model(shape: ShapeAsked) -> ModelShape:
    from tonnage.memory.shapes import find_shape, shape_from_config

    if shape.config is None:
        assert shape.name is not None
        return find_shape(shape.name, where="--shape")
    file = shape.config / "config.json" if shape.config.is_dir() else shape.config
    return shape_from_config(_read_config(file), name=file.parent.name, where=str(file))


def _read_config(file: Path) -> dict[str, object]:
    """A file that should be a model's config.json, as an object."""
    try:
        config = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise _unreadable(file, error.strerror or str(error)) from error
    except json.JSONDecodeError as error:
        raise _unreadable(file, f"not JSON: {error}") from error
    except (UnicodeDecodeError, RecursionError) as error:
        raise _unreadable(file, "not JSON") from error
    if not isinstance(config, dict):
        raise _unreadable(file, f"it holds a {type(config).__name__}, not an object")
    return config


def _unreadable(file: Path, what: str) -> DocumentError:
    return DocumentError(
        Problem(
            code="EST-012",
            what=f"cannot be read as a model's config: {what}",
            where=str(file),
            expected="the config.json of a Hugging Face model, or the folder that holds it",
            hint="or name the model: --shape llama-3-8b",
        )
    )


def _subject(model: ModelShape, shape: ShapeAsked) -> str:
    recipe = shape.recipe
    length = recipe.sequence or recipe.image or model.image
    size = f"{recipe.micro_batch} x {length}" if length else str(recipe.micro_batch)
    return f"{model.name}, batch {size}, {recipe.precision}, {recipe.optimizer}"


def _fits(asked: Asked, estimates: list[Estimate]) -> tuple[Fit, ...]:
    if not asked.asks_fit:
        return ()
    return tuple(fit_on(each, gpu) for each, gpu in zip(estimates, asked.gpus, strict=True))
