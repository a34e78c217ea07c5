"""Who answers what a step needs of a GPU: the traced step, the shape ledger, or nobody.

Planning asks through one small port, so that a trace (seconds, exact) and a shape (on paper, labelled) are
asked the same question, and tests bring their own answers. Memory and time are asked apart: where time alone
is cheap, the solver weighs many settings by it before it asks for the memory of a few, and a setting that does
not fit need not be timed at all. Where a rough answer is cheap, it is asked first, and the full one only where
the rough one does not decide.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import Protocol, TypeVar

from msgspec.structs import replace

from tonnage.memory.estimate import Estimate, Interval, Mode
from tonnage.planning.solver.setup import Setup

KNOBS_ON_PAPER = (
    "micro_batch", "accumulation", "checkpointing", "precision", "optimizer", "sharding", "tensor", "offload",
)  # fmt: skip
"""What can be turned of a step that is described: all that a recipe says."""

Key = TypeVar("Key", bound=Hashable)
Answer = TypeVar("Answer")


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

    def memory(self, setup: Setup) -> Estimate:
        """Memory of one rank, timed only where that costs nothing more; raise CannotEstimate."""

    def seconds(self, setup: Setup) -> Interval | None:
        """Time of one optimizer step alone; raise CannotEstimate."""

    def roughly(self, setup: Setup) -> Estimate | None:
        """Memory alone, its allocated peak true to a few per cent; None where only the full answer can be had.

        Cheap where many micro-batches of one kind are asked about.
        """

    def bounds(self, setup: Setup) -> Iterator[int]:
        """Bytes below which `required` of the full answer will surely not lie: rising, what costs least to tell first.

        The full answer to the same question builds on what they cost. None come where only that one tells.
        """


class Remembered:
    """An estimator that is asked each question once."""

    def __init__(self, estimator: StepEstimator) -> None:
        self._estimator = estimator
        self._estimates: dict[Setup, Estimate | CannotEstimate] = {}
        self._memories: dict[Setup, Estimate | CannotEstimate] = {}
        self._seconds: dict[Setup, Interval | CannotEstimate | None] = {}
        self._rough: dict[Setup, Estimate | None] = {}

    @property
    def mode(self) -> Mode:
        return self._estimator.mode

    @property
    def knobs(self) -> tuple[str, ...]:
        return self._estimator.knobs

    def estimate(self, setup: Setup) -> Estimate:
        return remembered(self._estimates, setup, lambda: self._whole(setup))

    def memory(self, setup: Setup) -> Estimate:
        if setup in self._estimates:
            return self.estimate(setup)
        return remembered(self._memories, setup, lambda: self._estimator.memory(setup))

    def seconds(self, setup: Setup) -> Interval | None:
        known = self._estimates.get(setup)
        if isinstance(known, Estimate):
            return known.step_seconds
        return remembered(self._seconds, setup, lambda: self._estimator.seconds(setup))

    def roughly(self, setup: Setup) -> Estimate | None:
        known = self._known(setup)
        if known is not None:
            return known
        if setup not in self._rough:
            self._rough[setup] = self._estimator.roughly(setup)
        return self._rough[setup]

    def bounds(self, setup: Setup) -> Iterator[int]:
        known = self._known(setup)
        return self._estimator.bounds(setup) if known is None else iter((known.required,))

    def _known(self, setup: Setup) -> Estimate | None:
        """Memory that was worked out in full before, timed or not."""
        known = self._estimates.get(setup) or self._memories.get(setup)
        return known if isinstance(known, Estimate) else None

    def _whole(self, setup: Setup) -> Estimate:
        if setup in self._memories:
            return replace(self.memory(setup), step_seconds=self.seconds(setup))
        return self._estimator.estimate(setup)


def remembered(known: dict[Key, Answer | CannotEstimate], key: Key, work: Callable[[], Answer]) -> Answer:
    """The answer, worked out once; a refusal is remembered too, and raised again."""
    if key not in known:
        try:
            known[key] = work()
        except CannotEstimate as reason:
            known[key] = reason
    answer = known[key]
    if isinstance(answer, CannotEstimate):
        raise answer
    return answer


class FallingBack:
    """Asks the first estimator until it cannot answer, and from then on the second; `notes` is told why."""

    def __init__(self, first: StepEstimator, second: StepEstimator, notes: list[str]) -> None:
        self._asked, self._second, self._notes = first, second, notes
        self._has_answered = False

    @property
    def mode(self) -> Mode:
        return self._asked.mode

    @property
    def knobs(self) -> tuple[str, ...]:
        return self._asked.knobs

    def estimate(self, setup: Setup) -> Estimate:
        try:
            answer = self._asked.estimate(setup)
        except CannotEstimate as reason:
            if self._has_answered or self._asked is self._second:
                raise
            self._notes.append(f"not traced, estimated from the shape: {reason}")
            self._asked = self._second
            answer = self._asked.estimate(setup)
        self._has_answered = True
        return answer

    def memory(self, setup: Setup) -> Estimate:
        return self._asked.memory(setup) if self._has_answered else self.estimate(setup)

    def seconds(self, setup: Setup) -> Interval | None:
        return self.estimate(setup).step_seconds if not self._has_answered else self._asked.seconds(setup)

    def roughly(self, setup: Setup) -> Estimate | None:
        return self._asked.roughly(setup)

    def bounds(self, setup: Setup) -> Iterator[int]:
        return self._asked.bounds(setup)


def repeated(once: Interval, twice: Interval, times: int) -> Interval:
    """The time of a step that accumulates: the first micro-batch costs all, each further one the difference."""
    more = times - 1
    return Interval(
        p10=once.p10 + more * max(0.0, twice.p10 - once.p10),
        p50=once.p50 + more * max(0.0, twice.p50 - once.p50),
        p90=once.p90 + more * max(0.0, twice.p90 - once.p90),
    )
