"""Smaller steps to fall back to when a run is out of GPU memory although its plan said it fits.

Each keeps the global batch: the micro-batch is cut further and accumulated longer, from the largest cut on, with what
the solver's scales say it needs and costs. Where the document allows it, larger GPUs follow, the smallest first.
Settled before the start, because whoever answers the death later has no estimator at hand. A traced step is not asked:
every answer would take seconds before anything is started, and the cuts are the same.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from tonnage.planning.answers import Alternative
from tonnage.planning.situation import Situation, scales_of, space_of
from tonnage.planning.solver.judging import Outcome, Remembering
from tonnage.planning.solver.setup import Setup
from tonnage.planning.solver.space import Space, cuts


def smaller_steps(situation: Situation, *, larger_gpus: bool = False) -> tuple[Alternative, ...]:
    """Ways to make the same step, best first; none where the step is not described."""
    estimator = situation.sources.estimator
    space = space_of(situation, others=larger_gpus)
    if space is None or estimator is None or estimator.mode == "exact":
        return ()
    judge = Remembering(scales_of(situation, care="always"))
    base = judge.outcome(space.base)
    if base is None:
        return ()
    cut = [outcome for setup in _cut_further(space) if (outcome := judge.outcome(setup)) is not None]
    larger = _larger(space, base, judge) if larger_gpus else ()
    ordered = [*cut, *sorted(larger, key=lambda outcome: outcome.room.usable)]
    return tuple(_alternative(outcome, base) for outcome in ordered)


def _cut_further(space: Space) -> list[Setup]:
    """The same setup with smaller micro-batches, largest first."""
    asked = space.base.recipe.micro_batch
    return [cut for cut in reversed(cuts(space.base, space)) if cut.recipe.micro_batch < asked]


def _larger(space: Space, base: Outcome, judge: Remembering) -> Iterator[Outcome]:
    """The same step on as many GPUs with more memory, where there are such nodes."""
    asked = space.base.devices
    for devices in space.devices:
        if (devices.per_node, devices.nodes) != (asked.per_node, asked.nodes) or devices.gpu == asked.gpu:
            continue
        outcome = judge.outcome(replace(space.base, devices=devices))
        is_larger = outcome is not None and outcome.room.usable > base.room.usable
        if outcome is not None and is_larger and judge.obstacle(outcome.setup) is None:
            yield outcome


def _alternative(outcome: Outcome, base: Outcome) -> Alternative:
    is_timed = base.seconds and outcome.seconds is not None
    return Alternative(
        setup=outcome.setup,
        required=outcome.room.required,
        usable=outcome.room.usable,
        seconds=outcome.seconds,
        rate=outcome.rate,
        changes=(),
        slower=(outcome.seconds or 0.0) / (base.seconds or 1.0) - 1 if is_timed else None,
    )
