"""Say why: each step from what was asked for to what is proposed, and what the knobs left alone would do.

The steps are real setups, judged one after the other, so that the figures add up to the whole. Where one
knob alone would break the global batch, it is taken together with the next.
"""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from tonnage.planning.solver.fixing import space_values
from tonnage.planning.solver.judging import Judge, Outcome, Remembering
from tonnage.planning.solver.knobs import KNOBS, Knob, value_of, with_value
from tonnage.planning.solver.setup import Setup, rebatched
from tonnage.planning.solver.space import Space

_ORDER: tuple[Knob, ...] = (
    "devices", "sharding", "tensor", "optimizer", "precision", "checkpointing", "offload", "micro_batch",
)  # fmt: skip


class Turn(msgspec.Struct, frozen=True):
    """One knob (or several that only work together) turned, with what came of it."""

    knobs: tuple[Knob, ...]
    values: tuple[object, ...]
    before: Outcome
    after: Outcome

    @property
    def saved(self) -> int:
        return self.before.room.required - self.after.room.required

    @property
    def slower(self) -> float | None:
        if not self.before.seconds or self.after.seconds is None:
            return None
        return self.after.seconds / self.before.seconds - 1


def steps_between(base: Setup, chosen: Setup, judge: Judge) -> list[Turn]:
    """The turns that lead from one setup to the other, the devices first, the micro-batch last."""
    remembering = judge if isinstance(judge, Remembering) else Remembering(judge)
    turns: list[Turn] = []
    here, knobs = base, []
    current = base
    for knob in _ORDER:
        wanted = value_of(knob, chosen)
        if value_of(knob, current) == wanted:
            continue
        turned = with_value(knob, current, wanted)
        if turned is None:
            continue
        knobs.append(knob)
        current = turned
        kept = _kept(current, base.global_batch, chosen)
        before = remembering.outcome(here)
        after = None if kept is None else remembering.outcome(kept)
        if kept is not None and before is not None and after is not None:
            values = tuple(value_of(one, kept) for one in knobs)
            turns.append(Turn(tuple(knobs), values, before, after))
            here, current, knobs = kept, kept, []
    return turns


def untouched(space: Space, chosen: Setup, judge: Judge) -> list[Turn]:
    """What each knob the choice left alone would have saved and cost, turned by itself."""
    remembering = judge if isinstance(judge, Remembering) else Remembering(judge)
    before = remembering.outcome(chosen)
    turns: list[Turn] = []
    if before is None:
        return turns
    for knob in KNOBS:
        if knob == "micro_batch":
            continue
        for value in space_values(knob, space):
            if value == value_of(knob, chosen):
                continue
            turned = with_value(knob, chosen, value)
            if turned is None:
                continue
            recipe = rebatched(turned.recipe, space.global_batch, chosen.recipe.micro_batch)
            if recipe is None:
                continue
            after = remembering.outcome(replace(turned, recipe=recipe))
            if after is not None and after.room.required < before.room.required:
                turns.append(Turn((knob,), (value,), before, after))
    return turns


def _kept(setup: Setup, global_batch: int, chosen: Setup) -> Setup | None:
    """The setup with the global batch kept: by accumulating, else by the choice's own micro-batch."""
    recipe = rebatched(setup.recipe, global_batch, setup.recipe.micro_batch)
    if recipe is None and setup.recipe.parallel == chosen.recipe.parallel:
        recipe = rebatched(setup.recipe, global_batch, chosen.recipe.micro_batch)
    return None if recipe is None else replace(setup, recipe=recipe)
