"""Find the cheapest setup that fits, without asking about every one.

Three ways to the same answer, by what an answer costs:

    search        every setup is timed and taken in order of cost; the first that fits is the cheapest. Nothing is
                  assumed of time, so this is what small spaces get.
    lazily        only the largest micro-batch of each kind that has hope is timed at first, as the best that kind
                  can do; it is asked about when its turn comes, and makes room for the next smaller one.
    by_bisection  where time costs a trace as memory does: the largest micro-batch that fits, of every kind.

The last two take a larger micro-batch to be no slower, which holds as long as it keeps the GPU busier. All of
them ask for memory only where it decides, and never about a micro-batch above one that did not fit.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from heapq import heappop, heappush
from itertools import groupby

import msgspec

from tonnage.planning.solver.judging import Judge, Outcome, Remembering, Room
from tonnage.planning.solver.knobs import KNOBS, value_of
from tonnage.planning.solver.setup import Setup
from tonnage.planning.solver.space import Space, cuts, kinds, setups

RUNNERS_UP = 2
FEW = 2
"""Micro-batches that are asked about at once: a rough answer would save nothing."""


class Solution(msgspec.Struct, frozen=True):
    """The choice, the next best of other kinds, and how much was looked at."""

    best: Outcome | None
    runners_up: tuple[Outcome, ...] = ()
    considered: int = 0
    asked: int = 0
    """Setups whose memory was asked for."""
    obstacles: tuple[str, ...] = ()
    """What kept setups away that would have fitted the GPU."""


def search(space: Space, judge: Judge) -> Solution:
    """The cheapest setup that fits, in the order: cost of a step, fewer GPUs, more head-room."""
    remembering = judge if isinstance(judge, Remembering) else Remembering(judge)
    priced = sorted(
        ((_price(setup, remembering), setup) for setup in setups(space)), key=lambda pair: pair[0]
    )
    found: list[Outcome] = []
    too_large: dict[tuple[object, ...], int] = {}
    obstacles: dict[str, None] = {}
    asked = 0
    for _, equals in groupby(priced, key=lambda pair: pair[0]):
        fitting: list[Outcome] = []
        for _, setup in equals:
            if setup.recipe.micro_batch >= too_large.get(setup.kind, 2**63):
                continue
            asked += 1
            outcome = remembering.outcome(setup)
            if outcome is None:
                continue
            if not outcome.room.fits:
                smallest = too_large.get(setup.kind, 2**63)
                too_large[setup.kind] = min(smallest, setup.recipe.micro_batch)
            elif (obstacle := remembering.obstacle(setup)) is not None:
                obstacles[obstacle] = None
            else:
                fitting.append(outcome)
        found.extend(sorted(fitting, key=lambda outcome: _order(outcome, space.base)))
        if len({outcome.setup.kind for outcome in found}) > RUNNERS_UP:
            break
    return _solution(found, len(priced), asked, tuple(obstacles))


def lazily(space: Space, judge: Judge) -> Solution:
    """The same for large spaces: kinds wait in line by the best they could do."""
    remembering = judge if isinstance(judge, Remembering) else Remembering(judge)
    line: list[tuple[tuple[bool, float, int], int, int]] = []
    sizes_of = [cuts(kind, space) for kind in kinds(space)]

    def queue(number: int, below: int) -> None:
        hopeful = _hopeful(sizes_of[number][:below], remembering)
        if hopeful:
            heappush(line, (_price(sizes_of[number][hopeful - 1], remembering), number, hopeful - 1))

    for number, sizes in enumerate(sizes_of):
        queue(number, len(sizes))
    found: list[Outcome] = []
    obstacles: dict[str, None] = {}
    asked = 0
    while line and len(found) <= RUNNERS_UP:
        _, number, index = heappop(line)
        outcome = remembering.outcome(sizes_of[number][index])
        asked += 1
        if outcome is None:
            continue
        if not outcome.room.fits:
            queue(number, index)
        elif (obstacle := remembering.obstacle(outcome.setup)) is not None:
            obstacles[obstacle] = None
        else:
            found.append(outcome)
    ordered = sorted(found, key=lambda outcome: _order(outcome, space.base))
    return _solution(ordered, sum(map(len, sizes_of)), asked, tuple(obstacles))


def by_bisection(space: Space, judge: Judge) -> Solution:
    """The same where every question is dear: one bisection over micro-batches for each kind."""
    remembering = judge if isinstance(judge, Remembering) else Remembering(judge)
    found: list[Outcome] = []
    obstacles: dict[str, None] = {}
    considered = asked = 0
    for kind in kinds(space):
        sizes = cuts(kind, space)
        considered += len(sizes)
        outcome, questions = largest_that_fits(sizes, remembering)
        asked += questions
        if outcome is None:
            continue
        if (obstacle := remembering.obstacle(outcome.setup)) is not None:
            obstacles[obstacle] = None
        else:
            found.append(outcome)
    ordered = sorted(found, key=lambda outcome: _order(outcome, space.base))
    return _solution(ordered, considered, asked, tuple(obstacles))


def largest_that_fits(sizes: Sequence[Setup], judge: Remembering) -> tuple[Outcome | None, int]:
    """The last of setups in order of micro-batch that fits, by bisection; and how many were asked about."""
    low, high = 0, len(sizes) if len(sizes) <= FEW else _hopeful(sizes, judge)
    best: tuple[Room, Setup] | None = None
    asked = 0
    while low < high:
        middle = (low + high) // 2
        room = judge.room(sizes[middle])
        asked += 1
        if room is not None and room.fits:
            best, low = (room, sizes[middle]), middle + 1
        else:
            high = middle
    return (None if best is None else judge.outcome_in(*best)), asked


def _hopeful(sizes: Sequence[Setup], judge: Remembering) -> int:
    """How many setups, in order of micro-batch, are not surely too large."""
    return bisect_left(sizes, True, key=judge.is_hopeless)


def _price(setup: Setup, judge: Remembering) -> tuple[bool, float, int]:
    """What is known of the rank before memory is asked."""
    rate, seconds, count = judge.rate(setup.devices), judge.seconds(setup), setup.devices.count
    if seconds is None:
        return (rate is None, 0.0, count)
    return (rate is None, seconds * count if rate is None else rate * seconds / 3600, count)


def _order(outcome: Outcome, base: Setup) -> tuple[object, ...]:
    """Preference; among equals fewer changes, and then a fixed order."""
    changes = sum(value_of(knob, outcome.setup) != value_of(knob, base) for knob in KNOBS)
    return (*outcome.rank, changes, str(outcome.setup))


def _solution(found: Sequence[Outcome], considered: int, asked: int, obstacles: tuple[str, ...]) -> Solution:
    """The first, and the first of each other kind after it."""
    if not found:
        return Solution(None, (), considered, asked, obstacles)
    best, others, seen = found[0], [], {found[0].setup.kind}
    for outcome in found[1:]:
        if outcome.setup.kind not in seen:
            seen.add(outcome.setup.kind)
            others.append(outcome)
    return Solution(best, tuple(others[:RUNNERS_UP]), considered, asked, obstacles)
