"""The estimator of a model that is described, not traced: memory from the ledger, time from the same step on paper."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from tonnage.cluster.gpus import GpuType, find_gpu
from tonnage.errors import TonnageError
from tonnage.memory.estimate import Estimate, Interval, Mode
from tonnage.memory.ledger import shape_estimate, shape_floor, shape_least, shape_peaks
from tonnage.memory.recipe import Optimizer, Recipe
from tonnage.memory.shapes import ModelShape
from tonnage.planning.estimating import KNOBS_ON_PAPER, CannotEstimate
from tonnage.planning.solver.setup import Setup
from tonnage.timing.collective import Interconnect
from tonnage.timing.shape import shape_step_time

FUSED: Optimizer = "adamw-fused"
LIKE_FUSED: tuple[Optimizer, ...] = ("adamw", "adamw-forloop")


class ShapeEstimator:
    """Answers for one model shape."""

    def __init__(self, shape: ModelShape) -> None:
        self._shape = shape
        self._seen: dict[tuple[Recipe, str], Estimate] = {}
        """Answers about optimizers that keep no more state than the fused one does, and else do the same."""

    @property
    def mode(self) -> Mode:
        return "shape"

    @property
    def knobs(self) -> tuple[str, ...]:
        return KNOBS_ON_PAPER

    def estimate(self, setup: Setup) -> Estimate:
        """Memory and time of one rank; raise CannotEstimate with what does not go together."""
        return replace(self.memory(setup), step_seconds=self.seconds(setup))

    def memory(self, setup: Setup) -> Estimate:
        """Memory of one rank; raise CannotEstimate likewise."""
        try:
            found = shape_estimate(self._shape, setup.recipe, _gpu(setup))
        except TonnageError as error:
            raise _cannot(error) from error
        if setup.recipe.optimizer in LIKE_FUSED:
            self._seen[_but_for_optimizer(setup)] = found
        return found

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

    def bounds(self, setup: Setup) -> Iterator[int]:
        """What a step of the same kind was seen to hold, then what this one allocates, then what the allocator adds."""
        like = self._seen.get(_but_for_optimizer(setup))
        try:
            if like is not None and setup.recipe.optimizer == FUSED:
                yield shape_floor(self._shape, setup.recipe, like)
            yield shape_peaks(self._shape, setup.recipe, _gpu(setup)).required
            yield shape_least(self._shape, setup.recipe, _gpu(setup))
        except (TonnageError, CannotEstimate):
            return


def _but_for_optimizer(setup: Setup) -> tuple[Recipe, str]:
    return replace(setup.recipe, optimizer=FUSED), setup.devices.gpu


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
