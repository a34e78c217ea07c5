"""The described answer of `tonnage estimate`: a model's dimensions, worked out on paper."""

from __future__ import annotations

import json
from pathlib import Path

from msgspec.structs import replace

from tonnage.cli.estimate_answering import Answer, fits_of
from tonnage.cli.estimate_asking import Asked, ShapeAsked
from tonnage.cluster.gpus import GpuType
from tonnage.errors import DocumentError, Problem, RefusedError
from tonnage.memory.allocator import OutOfMemoryError
from tonnage.memory.estimate import Estimate
from tonnage.memory.ledger import shape_estimate, shape_trace
from tonnage.memory.shapes import ModelShape, find_shape, shape_from_config
from tonnage.memory.trace import Trace
from tonnage.reporting.estimate import EstimateView
from tonnage.timing.shape import shape_step_time


def from_shape(asked: Asked, shape: ShapeAsked, why_not_exact: str, *, draws: bool) -> Answer:
    """The estimates of a described model; its trace only where something is drawn."""
    model, first = _model(shape), asked.gpus[0]
    try:
        estimates = [
            shape_estimate(model, shape.recipe, gpu, step_seconds=shape_step_time(model, shape.recipe, gpu))
            for gpu in asked.gpus
        ]
    except OutOfMemoryError as error:
        raise _beyond_any_gpu(error.size) from error
    trace = shape_trace(model, shape.recipe, first.name) if draws else None
    view = EstimateView(
        subject=_subject(model, shape),
        estimate=estimates[0] if trace is None else _drawn(estimates[0], trace, first),
        fits=fits_of(asked, estimates),
        why_not_exact=why_not_exact,
    )
    return Answer(view, trace, first)


def _drawn(estimate: Estimate, trace: Trace, gpu: GpuType) -> Estimate:
    """The estimate with what is held over the step."""
    from tonnage.memory.device import device_of
    from tonnage.memory.peak import profile
    from tonnage.memory.program import program_of

    return replace(estimate, samples=profile(program_of(trace, device_of(gpu, trace.settings))).samples)


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
