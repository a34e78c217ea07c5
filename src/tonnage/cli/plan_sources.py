"""Who answers for a plan: the tracer or the shape ledger, the pod's needs, the prices of the nodes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tonnage.cost.pricing import price_of_node
from tonnage.errors import DocumentError, Problem, TonnageError
from tonnage.planning.contradicting import in_document_words, is_contradiction
from tonnage.planning.estimating import FallingBack
from tonnage.planning.figuring import PodSizer
from tonnage.planning.sources import Sources
from tonnage.planning.workload.naming import a

if TYPE_CHECKING:
    from tonnage.cli.plan_tracing import TracingEstimator
    from tonnage.memory.shapes import ModelShape
    from tonnage.planning.estimating import StepEstimator
    from tonnage.planning.workload import Workload
    from tonnage.spec.run import Run
    from tonnage.spec.run.training import Shape


def sources_for(workload: Workload, *, no_trace: bool, python: str | None) -> tuple[Sources, list[str]]:
    """The sources of a plan, and what the reader should know about them."""
    run = workload.run
    notes: list[str] = []
    on_paper: StepEstimator | None = None
    exact: TracingEstimator | None = None
    why = f"{a(workload.kind)} does not say what it trains"
    shape = None
    if run is not None:
        folder = Path(workload.file).parent if workload.file and workload.file != "standard input" else Path()
        shape, why = _shape(run, folder, workload.file)
        on_paper = _on_paper(shape)
        exact = None if no_trace else _tracing(run, folder, python, notes)
    return Sources(
        estimator=FallingBack(exact, on_paper, notes) if exact and on_paper else exact or on_paper,
        own_of=None if exact is None else exact.own_of,
        why_no_estimate=why,
        price_of=price_of_node,
        figures_of=PodSizer(image=shape.image if shape is not None and shape.is_vision else None),
        heads=shape.heads if shape is not None and shape.heads else None,
    ), notes


def _on_paper(shape: ModelShape | None) -> StepEstimator | None:
    if shape is None:
        return None
    from tonnage.cli.kept_estimates import KeptEstimator
    from tonnage.sandbox.places import cache_home

    def make() -> StepEstimator:
        from tonnage.planning.shape_estimating import ShapeEstimator

        return ShapeEstimator(shape)

    return KeptEstimator(shape, make, cache_home() / "estimates")


def _tracing(run: Run, folder: Path, python: str | None, notes: list[str]) -> TracingEstimator | None:
    model = run.spec.model
    if model is None or model.step is None:
        return None
    from tonnage.cli.plan_tracing import TracingEstimator

    said = frozenset(run.spec.train.model_fields_set)
    return TracingEstimator(
        model.step, folder=folder, python=python or model.python, said=said, tell=_tell, notes=notes
    )


def _shape(run: Run, folder: Path, file: str) -> tuple[ModelShape | None, str]:
    """The model's shape where the document gives one; else why there is none. Raise DocumentError for a slip."""
    model = run.spec.model
    if model is None or (model.shape is None and model.step is None):
        return None, "spec.model is not said: a step to trace, or a shape"
    said = model.shape
    if said is None:
        return None, "the step was not traced, and spec.model.shape is not said"
    if said.preset is None and said.family is None:
        raise DocumentError(_named(_no_family(), file))
    from tonnage.memory.shapes import find_shape

    try:
        if said.preset is None:
            return _from_dimensions(said, said.family or ""), ""
        if said.preset.endswith(".json"):
            return _from_config(said, folder), ""
        return find_shape(said.preset, where="spec.model.shape"), ""
    except OSError as error:
        raise DocumentError(_no_config(said, folder, error.strerror or "cannot be read")) from None
    except json.JSONDecodeError as error:
        raise DocumentError(_no_config(said, folder, f"not JSON: {error.msg}, line {error.lineno}")) from None
    except UnicodeDecodeError:
        raise DocumentError(_no_config(said, folder, "not UTF-8 text")) from None
    except ValueError as error:
        raise DocumentError(_no_config(said, folder, str(error))) from None
    except TonnageError as error:
        slips = [problem for problem in error.problems if is_contradiction(problem)]
        if slips:  # of the pen, not a model that we cannot describe
            raise DocumentError(*(_named(problem, file) for problem in slips)) from None
        return None, f"{error.problem.what}: {error.problem.found}"


def _from_config(said: Shape, folder: Path) -> ModelShape:
    from tonnage.memory.shapes import shape_from_config

    config = json.loads((folder / (said.preset or "")).read_text())
    if not isinstance(config, dict):
        raise ValueError("not a JSON object")  # noqa: TRY004 - a mistake in a file, not in a call
    return shape_from_config(config, where=f"spec.model.shape ({said.preset})")


def _no_config(said: Shape, folder: Path, why: str) -> Problem:
    """A config.json that was named and cannot be read."""
    return Problem(
        code="PLAN-003",
        what=f"the model's configuration cannot be read: {why}",
        where=str(folder / (said.preset or "")),
        hint="spec.model.shape is the path of a config.json, beside the document, or the name of a model",
    )


def _named(problem: Problem, file: str) -> Problem:
    """The problem with the file it is in, in the words of a document."""
    hint = in_document_words(problem.hint or "").replace("--config config.json", "the path of a config.json")
    where = f"{file}: {problem.where}" if file else problem.where
    return replace(problem, where=where, hint=hint or None)


def _no_family() -> Problem:
    """Dimensions of nobody knows what."""
    return Problem(
        code="PLAN-005",
        what="the model's family is not said, and its dimensions mean nothing without it",
        where="spec.model.shape.family",
        expected="one of gpt2, llama, mixtral, bert, t5, vit",
    )


def _from_dimensions(said: Shape, family: str) -> ModelShape:
    from tonnage.memory.shapes import shape_from_dimensions

    names = (
        "layers",
        "hidden",
        "heads",
        "kv_heads",
        "intermediate",
        "vocabulary",
        "experts",
        "experts_per_token",
    )
    dimensions = {name: getattr(said, name) for name in names}
    return shape_from_dimensions(family, where="spec.model.shape", **dimensions)


def _tell(text: str) -> None:
    click.echo(text, err=True)
