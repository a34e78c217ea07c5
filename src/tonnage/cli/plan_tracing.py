"""The estimator of a step that can be traced: each setting that is asked about is one run of the user's own code."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from tonnage.cluster.gpus import GpuType, find_gpu
from tonnage.errors import TonnageError
from tonnage.memory.estimate import Estimate, Interval, Mode
from tonnage.memory.exact import exact_estimate
from tonnage.memory.trace import Trace
from tonnage.planning.estimating import CannotEstimate, repeated
from tonnage.planning.shape_estimating import interconnect_of
from tonnage.planning.solver.setup import Setup
from tonnage.timing.step import step_time
from tonnage.tracing import TraceRequest, parse_step, trace_step

KNOBS = ("micro_batch", "accumulation", "checkpointing", "precision")
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
    ) -> None:
        file, function = parse_step(step)
        self._file, self._function = folder / file, function
        self._python = python
        self._said = set(said)
        self._tell = tell
        self._fixed: tuple[str, ...] = ()
        self._traced = 0
        self._known: dict[Setup, Estimate] = {}

    @property
    def mode(self) -> Mode:
        return "exact"

    @property
    def knobs(self) -> tuple[str, ...]:
        """The knobs that `build` takes, known once it has been traced."""
        return tuple(knob for knob in KNOBS if knob not in self._fixed) if self._traced else ()

    def estimate(self, setup: Setup) -> Estimate:
        """Trace the step with these settings; raise CannotEstimate with what stands in the way."""
        times = setup.recipe.accumulation
        if times <= _TRACED_REPETITIONS or "accumulation" in self._fixed or not self._traced:
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

    def peaks(self, setup: Setup) -> Estimate | None:  # noqa: ARG002
        """Nothing short of a trace tells."""
        return None

    def least(self, setup: Setup) -> int | None:  # noqa: ARG002
        """Nothing short of a trace tells."""
        return None

    def _exact(self, setup: Setup) -> Estimate:
        if setup in self._known:
            return self._known[setup]
        gpu = find_gpu(setup.devices.gpu)
        if gpu is None:
            raise CannotEstimate(f"{setup.devices.gpu} is not a GPU type in our table")
        try:
            trace = self._trace(setup, gpu)
            seconds = step_time(trace, gpu, interconnect=interconnect_of(setup))
            self._known[setup] = exact_estimate(trace, gpu, step_seconds=seconds)
        except TonnageError as error:
            problem = error.problem
            raise CannotEstimate(f"{problem.what} ({problem.code})") from error
        return self._known[setup]

    def _trace(self, setup: Setup, gpu: GpuType) -> Trace:
        recipe = setup.recipe
        values = {
            "micro_batch": recipe.micro_batch,
            "accumulation": recipe.accumulation,
            "checkpointing": recipe.checkpointing,
            "precision": recipe.precision,
            "sequence": recipe.sequence,
        }
        # Before the first trace only what the document says is passed: the rest is the file's own choice.
        knobs = {name: value for name, value in values.items() if name in self._said or self._traced}
        self._tell(f"tracing {self._file.name}" + (f" with {_shown(knobs)}" if self._traced else ""))
        trace = trace_step(
            TraceRequest(
                file=self._file,
                function=self._function,
                gpu=gpu,
                python=self._python,
                world_size=recipe.parallel.world_size,
                ranks_per_node=setup.devices.per_node,
                knobs={name: value for name, value in knobs.items() if value is not None},
            )
        )
        self._fixed, self._traced = trace.fixed, self._traced + 1
        return trace


def _shown(knobs: Mapping[str, object]) -> str:
    return ", ".join(f"{name} {value}" for name, value in knobs.items() if value is not None)
