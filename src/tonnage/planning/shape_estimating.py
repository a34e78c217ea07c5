"""The estimator of a model that is described, not traced: memory from the ledger, time from the same step on paper."""

from __future__ import annotations

from dataclasses import replace

from tonnage.cluster.gpus import GpuType, find_gpu
from tonnage.errors import TonnageError
from tonnage.memory.estimate import Estimate, Interval, Mode
from tonnage.memory.ledger import shape_estimate, shape_trace
from tonnage.memory.recipe import Recipe
from tonnage.memory.shapes import ModelShape
from tonnage.planning.estimating import CannotEstimate, repeated
from tonnage.planning.solver.setup import Setup
from tonnage.timing.collective import Interconnect
from tonnage.timing.step import step_time

KNOBS = (
    "micro_batch", "accumulation", "checkpointing", "precision", "optimizer", "sharding", "tensor", "offload",
)  # fmt: skip


class ShapeEstimator:
    """Answers for one model shape."""

    def __init__(self, shape: ModelShape) -> None:
        self._shape = shape

    @property
    def mode(self) -> Mode:
        return "shape"

    @property
    def knobs(self) -> tuple[str, ...]:
        return KNOBS

    def estimate(self, setup: Setup) -> Estimate:
        """Memory and time of one rank; raise CannotEstimate with what does not go together.

        What a step holds does not depend on how often a micro-batch is repeated after the second time.
        """
        gpu = _gpu(setup)
        seconds = self.seconds(setup)
        try:
            return shape_estimate(self._shape, _repeating(setup, 2), gpu, step_seconds=seconds)
        except TonnageError as error:
            raise _cannot(error) from error

    def seconds(self, setup: Setup) -> Interval | None:
        """Time of one step; that of many micro-batches follows from one and two."""
        times = setup.recipe.accumulation
        once = self._seconds_of(setup, 1)
        return once if times == 1 else repeated(once, self._seconds_of(setup, 2), times)

    def _seconds_of(self, setup: Setup, times: int) -> Interval:
        gpu = _gpu(setup)
        try:
            trace = shape_trace(self._shape, replace(setup.recipe, accumulation=times), gpu.name)
        except TonnageError as error:
            raise _cannot(error) from error
        return step_time(trace, gpu, interconnect=interconnect_of(setup))


def _repeating(setup: Setup, most: int) -> Recipe:
    return replace(setup.recipe, accumulation=min(setup.recipe.accumulation, most))


def _gpu(setup: Setup) -> GpuType:
    gpu = find_gpu(setup.devices.gpu)
    if gpu is None:
        raise CannotEstimate(f"{setup.devices.gpu} is not a GPU type in our table")
    return gpu


def _cannot(error: TonnageError) -> CannotEstimate:
    problem = error.problem
    return CannotEstimate(f"{problem.what}{f': {problem.found}' if problem.found else ''}")


def interconnect_of(setup: Setup) -> Interconnect:
    """Where the ranks of a setup sit."""
    return Interconnect(gpus_per_node=max(1, setup.devices.per_node))
