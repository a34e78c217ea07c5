"""The smallest single change that makes a run fit: one knob turned, all others as they were asked for.

People change one line more gladly than five. Each knob is turned alone, as little as makes it fit (the
largest micro-batch, selective before full checkpointing, the next larger number of GPUs), and what fits is
listed by what a step then costs, changes to the devices after all others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec
from msgspec.structs import replace

from tonnage.planning.solver.judging import Judge, Outcome, Remembering
from tonnage.planning.solver.knobs import KNOBS, Knob, value_of, with_value
from tonnage.planning.solver.searching import largest_that_fits
from tonnage.planning.solver.setup import Devices, Setup, rebatched
from tonnage.planning.solver.space import Space, cuts

GENTLE: tuple[Knob, ...] = ("optimizer", "micro_batch")
"""Knobs that cost people nothing but a little time: they are tried before anything else is asked."""
MOST_DEVICES = 4
"""Devices tried, from the nearest to what was asked for."""


class Fix(msgspec.Struct, frozen=True):
    """One knob turned so far that the run fits."""

    knob: Knob
    outcome: Outcome
    base: Outcome

    @property
    def slower(self) -> float | None:
        """How much longer a step takes, as a part: 0.27 is 27 % longer."""
        if not self.base.seconds or self.outcome.seconds is None:
            return None
        return self.outcome.seconds / self.base.seconds - 1

    @property
    def saved(self) -> int:
        """Bytes of GPU memory less than before."""
        return self.base.room.required - self.outcome.room.required


def single_fixes(
    space: Space, judge: Judge, *, enough: int | None = None, has_hope: Callable[[], bool] | None = None
) -> list[Fix]:
    """Knobs that make the base fit when turned alone, the cheapest first, devices last.

    Knobs are tried from the gentlest on, until `enough` of them help. Where the gentle ones do not, `has_hope`
    is asked whether any setting of these devices may; if none does, only other devices are left to try.
    """
    remembering = judge if isinstance(judge, Remembering) else Remembering(judge)
    base = remembering.outcome(space.base)
    if base is None:
        return []
    fixes: list[Fix] = []
    for knob in KNOBS:
        if enough is not None and len(fixes) >= enough:
            break
        is_in_doubt = not fixes and knob not in (*GENTLE, "devices")
        if is_in_doubt and has_hope is not None and not has_hope():
            continue
        fix = _turn(knob, space, base, remembering)
        if fix is not None:
            fixes.append(fix)
    return sorted(fixes, key=lambda fix: (fix.knob == "devices", fix.outcome.rank))


def _turn(knob: Knob, space: Space, base: Outcome, judge: Remembering) -> Fix | None:
    """The least turn of one knob that fits: values are tried from the gentlest on, micro-batches by bisection."""
    if knob == "micro_batch":
        asked = space.base.recipe.micro_batch
        smaller = [cut for cut in cuts(space.base, space) if cut.recipe.micro_batch < asked]
        largest, _ = largest_that_fits(smaller, judge)
        is_free = largest is not None and judge.obstacle(largest.setup) is None
        return Fix(knob, largest, base) if largest is not None and is_free else None
    for setup in _turned(knob, space, judge):
        room = judge.room(setup)
        if room is not None and room.fits and judge.obstacle(setup) is None:
            return Fix(knob, judge.outcome_in(room, setup), base)
    return None


def _turned(knob: Knob, space: Space, judge: Remembering) -> Iterator[Setup]:
    """The base with one knob turned, the gentlest turn first."""
    base = space.base
    values = space_values(knob, space)
    if knob == "devices":
        near = sorted(space.devices, key=lambda devices: _strangeness(devices, base.devices, judge))
        values = tuple(near[:MOST_DEVICES])
    for value in values:
        if value == value_of(knob, base):
            continue
        setup = with_value(knob, base, value)
        if setup is None:
            continue
        recipe = rebatched(setup.recipe, space.global_batch, base.recipe.micro_batch)
        if recipe is not None:
            yield replace(setup, recipe=recipe)


def _strangeness(devices: Devices, asked: Devices, judge: Remembering) -> tuple[object, ...]:
    """How far other devices are from those asked for: as many of another type, then more, then fewer."""
    rate = judge.rate(devices)
    difference = devices.count - asked.count
    return (difference != 0, difference < 0, abs(difference), rate is None, rate or 0, str(devices))


def space_values(knob: Knob, space: Space) -> tuple[object, ...]:
    """The values a knob may take."""
    values: dict[Knob, tuple[object, ...]] = {
        "optimizer": space.optimizers,
        "checkpointing": space.checkpointing,
        "precision": space.precisions,
        "sharding": space.shardings,
        "tensor": space.tensor,
        "offload": space.offloads,
        "devices": space.devices,
    }
    return values.get(knob, ())
