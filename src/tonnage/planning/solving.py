"""Ask the solver about a plan: in stages, from what costs least to live with, until something fits."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from msgspec.structs import replace

from tonnage.planning.changing import gib
from tonnage.planning.situation import Situation, scales_of, space_of
from tonnage.planning.solver.judging import Outcome, Remembering
from tonnage.planning.solver.searching import Solution, by_bisection, lazily, search
from tonnage.planning.solver.space import Space, leanest, setups

GPUS = "gpus"
SMALL_SPACE = 12
"""Up to so many setups every one is timed."""


class Solved(msgspec.Struct, frozen=True):
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
    considered, obstacles = 0, dict[str, None]()
    solution, stage = Solution(None), space
    for stage in _stages(situation, space, allow):
        if not _is_hopeful(stage, judge):
            continue
        solution = _find(stage, judge, is_exact=estimator.mode == "exact")
        considered += solution.considered
        obstacles.update(dict.fromkeys(solution.obstacles))
        if solution.best is not None:
            break
    if solution.best is None and not considered:
        obstacles.update(dict.fromkeys(_why_no_hope(situation, space, judge, allow)))
    if solution.best is None:  # then everything that stood in the way, at whatever stage
        solution = replace(solution, obstacles=tuple(obstacles))
    return Solved(replace(solution, considered=considered), stage, judge)


def has_hope(situation: Situation) -> bool:
    """Whether some settings of the same devices may fit, by answers that cost little."""
    space = space_of(situation, others=False)
    if space is None:
        return False
    judge = Remembering(scales_of(situation))
    return any(
        not judge.is_hopeless(setup)
        for stage in _stages(situation, space, frozenset({GPUS}))
        if (setup := leanest(stage)) is not None
    )


def find_leanest(situation: Situation) -> Outcome | None:
    """The setup with least memory that still fits and keeps the devices: an answer, not the cheapest one."""
    space = space_of(situation, others=False)
    if space is None:
        return None
    judge = Remembering(scales_of(situation))
    for stage in _stages(situation, space, frozenset({GPUS})):
        setup = leanest(stage)
        outcome = None if setup is None else judge.outcome(setup)
        if outcome is not None and outcome.room.fits and judge.obstacle(outcome.setup) is None:
            return outcome
    return None


def _find(stage: Space, judge: Remembering, *, is_exact: bool) -> Solution:
    if is_exact:
        return by_bisection(stage, judge)
    is_small = sum(1 for _ in setups(stage)) <= SMALL_SPACE
    return search(stage, judge) if is_small else lazily(stage, judge)


def _is_hopeful(stage: Space, judge: Remembering) -> bool:
    """Whether the leanest setup may fit: if not even that does, the others need not be asked."""
    setup = leanest(stage)
    return setup is None or not judge.is_hopeless(setup) or stage.base.devices not in stage.devices


def _why_no_hope(
    situation: Situation, space: Space, judge: Remembering, allow: frozenset[str]
) -> Iterator[str]:
    """Why no setting was worth a look: by how much the leanest of all fails, and where others could be found."""
    lean = [setup for stage in _stages(situation, space, allow) if (setup := leanest(stage)) is not None]
    rooms = [room for setup in lean if (room := judge.room(setup)) is not None]
    if rooms:
        least = min(rooms, key=lambda room: room.required)
        yield f"even the leanest settings need {gib(least.required)}, a GPU has {gib(least.usable)}"
    if situation.ground is None:
        yield "other GPUs are looked for on a cluster only (--on)"


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
    yield replace(fused, tensor=(base.parallel.tensor,))
    wider = None if GPUS in allow else space_of(situation, allow=allow, others=True)
    if wider is not None and len(wider.devices) > len(space.devices):
        elsewhere = tuple(devices for devices in wider.devices if devices not in space.devices)
        yield replace(gentle, devices=elsewhere)
