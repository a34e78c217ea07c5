"""The estimator of a model that is described, not traced: memory from the ledger, time from the same step on paper."""

from __future__ import annotations

from msgspec.structs import replace

from tonnage.cluster.gpus import GpuType, find_gpu
from tonnage.errors import TonnageError
from tonnage.memory.estimate import Estimate, Interval, Mode
from tonnage.memory.ledger import shape_estimate, shape_least, shape_peaks
from tonnage.memory.shapes import ModelShape
from tonnage.planning.estimating import CannotEstimate
from tonnage.planning.solver.setup import Setup
from tonnage.timing.collective import Interconnect
from tonnage.timing.shape import shape_step_time

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
        """Memory and time of one rank; raise CannotEstimate with what does not go together."""
        return replace(self.memory(setup), step_seconds=self.seconds(setup))

    def memory(self, setup: Setup) -> Estimate:
        """Memory of one rank; raise CannotEstimate likewise."""
        try:
            return shape_estimate(self._shape, setup.recipe, _gpu(setup))
        except TonnageError as error:
            raise _cannot(error) from error

    def seconds(self, setup: Setup) -> Interval | None:
        """Time of one step; raise CannotEstimate likewise."""
        try:
            return shape_step_time(
                self._shape, setup.recipe, _gpu(setup), interconnect=interconnect_of(setup)
            )
        except TonnageError as error:
            raise _cannot(error) from error

    def roughly(self, setup: Setup) -> Estimate | None:
        """Memory by straight lines through small steps; None where it cannot be had."""
        try:
            return shape_estimate(self._shape, setup.recipe, _gpu(setup), quick=True)
        except (TonnageError, CannotEstimate):
            return None

    def peaks(self, setup: Setup) -> Estimate | None:
        """Memory as allocated, worked out; the full answer to the same question builds on it."""
        try:
            return shape_peaks(self._shape, setup.recipe, _gpu(setup))
        except (TonnageError, CannotEstimate):
            return None

    def least(self, setup: Setup) -> int | None:
        """What the allocator holds at least without a limit, and the guard on that; None where it cannot be had."""
        try:
            return shape_least(self._shape, setup.recipe, _gpu(setup))
        except (TonnageError, CannotEstimate):
            return None


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
