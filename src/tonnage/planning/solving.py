"""Ask the solver about a plan: in stages, from what costs least to live with, until something fits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from tonnage.planning.situation import Situation, scales_of, space_of
from tonnage.planning.solver.judging import Remembering
from tonnage.planning.solver.searching import Solution, by_bisection, search
from tonnage.planning.solver.space import Space

GPUS = "gpus"


@dataclass(frozen=True, slots=True)
class Solved:
    """An answer with the space it was found in and the judge that knows the rest."""

    solution: Solution
    space: Space
    judge: Remembering


def solve(situation: Situation, *, allow: frozenset[str] = frozenset()) -> Solved:
    """The cheapest settings that fit, on the GPUs named where something fits there, else on others."""
    estimator = situation.sources.estimator
    space = space_of(situation, allow=allow, others=GPUS in allow or not _names_gpus(situation))
    assert space is not None
    assert estimator is not None
    judge = Remembering(scales_of(situation))
    find = by_bisection if estimator.mode == "exact" else search
    considered = 0
    solution, stage = Solution(None), space
    for stage in _stages(situation, space, allow):
        solution = find(stage, judge)
        considered += solution.considered
        if solution.best is not None:
            break
    return Solved(replace(solution, considered=considered), stage, judge)


def _names_gpus(situation: Situation) -> bool:
    """Whether the document says which GPUs: then others need consent."""
    return bool(situation.plan.workload.trainer.gpus.types)


def _stages(situation: Situation, space: Space, allow: frozenset[str]) -> Iterator[Space]:
    """What is tried in turn until something fits, from what costs least to live with.

    Offloading and tensor parallelism trade time for memory and are only worth it where nothing fits without
    them; GPUs other than those named come last. The fused optimizer does the same arithmetic with less of both,
    so nothing is tried without it.
    """
    base = space.base.recipe
    fused = replace(space, optimizers=space.optimizers[-1:])
    gentle = replace(fused, offloads=(base.offload,), tensor=(base.parallel.tensor,))
    yield gentle
    yield replace(fused, offloads=(base.offload,))
    yield fused
    wider = None if GPUS in allow else space_of(situation, allow=allow, others=True)
    if wider is not None and len(wider.devices) > len(space.devices):
        elsewhere = tuple(devices for devices in wider.devices if devices not in space.devices)
        yield replace(gentle, devices=elsewhere)
        yield replace(fused, devices=elsewhere)
