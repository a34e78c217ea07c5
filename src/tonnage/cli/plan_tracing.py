"""The estimator of a step that can be traced: each setting that is asked about is one run of the user's own code."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from tonnage.cluster.gpus import find_gpu
from tonnage.errors import TonnageError
from tonnage.memory.estimate import Estimate, Interval, Mode
from tonnage.memory.exact import exact_estimate
from tonnage.memory.recipe import Recipe
from tonnage.memory.trace import Trace
from tonnage.planning.estimating import CannotEstimate, remembered, repeated
from tonnage.planning.recipes import KNOBS as KNOBS_OF_BUILD
from tonnage.planning.recipes import is_value_of
from tonnage.planning.shape_estimating import interconnect_of
from tonnage.planning.solver.setup import Devices, Setup
from tonnage.timing.step import step_time
from tonnage.tracing import TraceRequest, parse_step, trace_step
from tonnage.tracing.failures import in_one_line

KNOBS = ("micro_batch", "accumulation", "checkpointing", "precision")
Values = tuple[tuple[str, Any], ...]
_TRACED_REPETITIONS = 4
"""A step that accumulates more often than this is worked out from one and two repetitions."""


class TracingEstimator:
    """Traces one step file, with the knobs its `build` takes."""

    def __init__(
        self,
        step: str,
        *,
        folder: Path,
        python: str | None,
        said: frozenset[str],
        tell: Callable[[str], None],
        notes: list[str] | None = None,
    ) -> None:
        file, function = parse_step(step)
        self._file, self._function = folder / file, function
        self._python = python
        self._said = set(said)
        self._tell = tell
        self._notes = [] if notes is None else notes
        self._own: dict[tuple[Devices, int], Trace | CannotEstimate] = {}
        self._fixed: frozenset[str] = frozenset()
        self._known: dict[tuple[Devices, int, Values], Estimate] = {}

    @property
    def mode(self) -> Mode:
        return "exact"

    @property
    def knobs(self) -> tuple[str, ...]:
        """The knobs that `build` takes, known once it has been traced."""
        is_traced = any(isinstance(trace, Trace) for trace in self._own.values())
        return tuple(knob for knob in KNOBS if knob not in self._fixed) if is_traced else ()

    def own_of(self, recipe: Recipe, devices: Devices) -> Mapping[str, Any]:
        """What `build` uses where it is told no more than the document says; raise CannotEstimate."""
        return self._first(recipe, devices).knobs

    def estimate(self, setup: Setup) -> Estimate:
        """Trace the step with these settings; raise CannotEstimate with what stands in the way."""
        first = self._first(setup.recipe, setup.devices)
        times = setup.recipe.accumulation
        is_own = first.knobs.get("accumulation") == times
        if times <= _TRACED_REPETITIONS or is_own or "accumulation" in self._fixed:
            return self._exact(setup)
        once, twice = (
            self._exact(replace(setup, recipe=replace(setup.recipe, accumulation=n))) for n in (1, 2)
        )
        if once.step_seconds is None or twice.step_seconds is None:
            return twice
        return replace(twice, step_seconds=repeated(once.step_seconds, twice.step_seconds, times))

    def memory(self, setup: Setup) -> Estimate:
        """Memory of the step: the trace that tells it tells its time as well."""
        return self.estimate(setup)

    def seconds(self, setup: Setup) -> Interval | None:
        """Time of the step: it takes a trace to know, as its memory does."""
        return self.estimate(setup).step_seconds

    def roughly(self, setup: Setup) -> Estimate | None:  # noqa: ARG002
        """Nothing short of a trace tells."""
        return None

    def bounds(self, setup: Setup) -> Iterator[int]:  # noqa: ARG002
        """Nothing short of a trace tells."""
        return iter(())

    def _first(self, recipe: Recipe, devices: Devices) -> Trace:
        """The step as its file has it: only what the document says is passed, the rest is the file's own choice."""

        def traced() -> Trace:
            trace = self._trace(_values(recipe, self._said), recipe, devices)
            self._learn(trace)
            return trace

        return remembered(self._own, (devices, recipe.parallel.world_size), traced)

    def _learn(self, trace: Trace) -> None:
        """Which knobs `build` has no ear for; what the document says of those is not what was traced."""
        odd = [name for name, value in trace.knobs.items() if not is_value_of(name, value)]
        self._fixed = frozenset((*trace.fixed, *odd))
        unheard = [name for name in KNOBS_OF_BUILD if name in self._said & self._fixed]
        note = (
            f"{self._function}() does not take {', '.join(unheard)}: its own was traced, whatever "
            f"{', '.join(f'train.{KNOBS_OF_BUILD[name]}' for name in unheard)} says"
        )
        if unheard and note not in self._notes:
            self._notes.append(note)

    def _exact(self, setup: Setup) -> Estimate:
        recipe, devices = setup.recipe, setup.devices
        first = self._first(recipe, devices)
        asked = _values(recipe, set(first.knobs) - self._fixed)
        key = (devices, recipe.parallel.world_size, tuple(asked.items()))
        if key not in self._known:
            is_own = all(first.knobs[name] == value for name, value in asked.items())
            trace = first if is_own else self._trace(asked, recipe, devices)
            self._known[key] = _estimated(trace, setup)
        return self._known[key]

    def _trace(self, knobs: Mapping[str, Any], recipe: Recipe, devices: Devices) -> Trace:
        gpu = find_gpu(devices.gpu)
        if gpu is None:
            raise CannotEstimate(f"{devices.gpu} is not a GPU type in our table")
        self._tell(f"tracing {self._file.name}" + (f" with {_shown(knobs)}" if self._own and knobs else ""))
        try:
            return trace_step(
                TraceRequest(
                    file=self._file,
                    function=self._function,
                    gpu=gpu,
                    python=self._python,
                    world_size=recipe.parallel.world_size,
                    ranks_per_node=devices.per_node,
                    knobs=dict(knobs),
                )
            )
        except TonnageError as error:
            raise CannotEstimate(in_one_line(error.problem)) from error


def _values(recipe: Recipe, names: Iterable[str]) -> dict[str, Any]:
    """What these knobs are in a recipe; what it leaves open is not there."""
    values = {
        "micro_batch": recipe.micro_batch,
        "accumulation": recipe.accumulation,
        "checkpointing": recipe.checkpointing,
        "precision": recipe.precision,
        "sequence": recipe.sequence,
    }
    wanted = set(names)
    return {name: value for name, value in values.items() if name in wanted and value is not None}


def _estimated(trace: Trace, setup: Setup) -> Estimate:
    gpu = find_gpu(setup.devices.gpu)
    assert gpu is not None  # it was traced for it
    try:
        seconds = step_time(trace, gpu, interconnect=interconnect_of(setup))
        return exact_estimate(trace, gpu, step_seconds=seconds)
    except TonnageError as error:
        raise CannotEstimate(in_one_line(error.problem)) from error


def _shown(knobs: Mapping[str, object]) -> str:
    return ", ".join(f"{name} {value}" for name, value in knobs.items() if value is not None)
