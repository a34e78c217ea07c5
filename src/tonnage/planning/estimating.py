"""Who answers what a step needs of a GPU: the traced step, the shape ledger, or nobody.

Planning asks through one small port, so that a trace (seconds, exact) and a shape (milliseconds, labelled)
are asked the same question, and tests bring their own answers.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

from tonnage.memory.estimate import Estimate, Mode
from tonnage.memory.recipe import Recipe
from tonnage.planning.solver.setup import Setup


class CannotEstimate(Exception):  # noqa: N818 - it is an answer, not an accident
    """Why a setup has no estimate; the text completes "GPU memory is not known: "."""


class StepEstimator(Protocol):
    """What a step needs of one GPU, and how long it takes where that is known."""

    @property
    def mode(self) -> Mode: ...

    @property
    def knobs(self) -> tuple[str, ...]:
        """The knobs it can turn: `micro_batch`, `checkpointing`, ...; others stand as they are."""

    def estimate(self, setup: Setup) -> Estimate:
        """Memory and time of one rank; raise CannotEstimate."""


class Remembered:
    """An estimator that is asked each question once.

    Memory does not depend on how often a micro-batch is repeated beyond the second time, and time is linear
    in it; so a setup that accumulates a hundred times costs no more to ask than one that does so twice.
    """

    def __init__(self, estimator: StepEstimator, *, is_linear: bool = True) -> None:
        self._estimator = estimator
        self._is_linear = is_linear
        self._known: dict[Setup, Estimate | CannotEstimate] = {}
        self.asked = 0

    @property
    def mode(self) -> Mode:
        return self._estimator.mode

    @property
    def knobs(self) -> tuple[str, ...]:
        return self._estimator.knobs

    def estimate(self, setup: Setup) -> Estimate:
        recipe = setup.recipe
        if not self._is_linear or recipe.accumulation <= 2:
            return self._ask(setup)
        once = self._ask(replace(setup, recipe=_accumulating(recipe, 1)))
        twice = self._ask(replace(setup, recipe=_accumulating(recipe, 2)))
        return _stretched(once, twice, recipe.accumulation)

    def _ask(self, setup: Setup) -> Estimate:
        if setup not in self._known:
            self.asked += 1
            try:
                self._known[setup] = self._estimator.estimate(setup)
            except CannotEstimate as reason:
                self._known[setup] = reason
        answer = self._known[setup]
        if isinstance(answer, CannotEstimate):
            raise answer
        return answer


def _accumulating(recipe: Recipe, times: int) -> Recipe:
    return replace(recipe, accumulation=times)


def _stretched(once: Estimate, twice: Estimate, times: int) -> Estimate:
    """Twice, with the time of `times` micro-batches: the first costs all, each further one the difference."""
    if once.step_seconds is None or twice.step_seconds is None:
        return twice
    first, second = once.step_seconds, twice.step_seconds
    stretched = replace(
        second,
        p10=first.p10 + (times - 1) * max(0.0, second.p10 - first.p10),
        p50=first.p50 + (times - 1) * max(0.0, second.p50 - first.p50),
        p90=first.p90 + (times - 1) * max(0.0, second.p90 - first.p90),
    )
    return replace(twice, step_seconds=stretched)
