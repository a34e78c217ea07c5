"""`--fit`: the solver's answer, explained step by step, and the document that carries it."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from tonnage.planning.answers import Alternative, Change, Fit, FitStep
from tonnage.planning.changing import (
    edits_between,
    gib,
    inline,
    knob_meaning,
    knob_text,
    parallel_document,
)
from tonnage.planning.estimating import StepEstimator
from tonnage.planning.situation import Situation, scales_of, space_of
from tonnage.planning.solver.explaining import Turn, steps_between, untouched
from tonnage.planning.solver.judging import Outcome, Remembering
from tonnage.planning.solver.setup import Setup
from tonnage.planning.solving import Solved, solve


def fit(situation: Situation, *, allow: frozenset[str] = frozenset()) -> Fit:
    """The cheapest plan that fits, explained."""
    contradiction = situation.chosen.contradiction if situation.chosen is not None else None
    if contradiction is not None:
        return Fit(chosen=None, obstacles=(str(contradiction),))
    if space_of(situation) is None:
        reason = situation.plan.memory.note or "what the step needs is not known"
        return Fit(chosen=None, obstacles=(reason,))
    return _answer(situation, solve(situation, allow=allow))


def changed_document(document: dict[str, Any], chosen: Setup, base: Setup) -> dict[str, Any]:
    """The plain document with the fields of the chosen setup; everything else as it was written."""
    spec = dict(document.get("spec") or {})
    for field, value in edits_between(base, chosen):
        if field.startswith("train."):
            spec["train"] = {**(spec.get("train") or {}), field.removeprefix("train."): value}
        else:
            spec[field] = value
    if "parallel" in (spec.get("train") or {}) and not parallel_document(chosen):
        spec["train"] = {name: value for name, value in spec["train"].items() if name != "parallel"}
    return {**document, "spec": spec}


def _answer(situation: Situation, solved: Solved) -> Fit:
    estimator = situation.sources.estimator
    assert estimator is not None
    space, judge, solution = solved.space, solved.judge, solved.solution
    if solution.best is None:
        return Fit(
            chosen=None, fixed=space.fixed, considered=solution.considered, obstacles=solution.obstacles
        )
    best = solution.best
    turns = steps_between(space.base, best.setup, scales_of(situation, care="always"))
    left = [] if estimator.mode == "exact" else untouched(space, best.setup, judge)
    asked = _asked_seconds(situation, judge, space.base)
    turns = [_from_asked(turn, space.base, asked) for turn in turns]
    return Fit(
        chosen=_alternative(best, space.base, asked, estimator),
        steps=tuple(_step(turn) for turn in turns),
        runners_up=tuple(_alternative(one, space.base, asked, estimator) for one in solution.runners_up),
        left=tuple(_step(turn) for turn in left),
        fixed=space.fixed,
        considered=solution.considered,
        confirmed=estimator.mode == "exact",
        obstacles=solution.obstacles,
    )


def _asked_seconds(situation: Situation, judge: Remembering, base: Setup) -> float | None:
    """How long a step takes as it is asked for: on part of a GPU longer than the judge says, who knows whole ones."""
    estimate = situation.chosen.memory.estimate if situation.chosen is not None else None
    step = estimate.step_seconds if estimate is not None else None
    return judge.seconds(base) if step is None else step.p50


def _from_asked(turn: Turn, base: Setup, asked: float | None) -> Turn:
    """The turn away from what was asked for, by the time that takes."""
    return replace(turn, before=replace(turn.before, seconds=asked)) if turn.before.setup == base else turn


def _alternative(
    outcome: Outcome, base: Setup, before: float | None, estimator: StepEstimator
) -> Alternative:
    slower = None
    if before and outcome.seconds is not None:
        slower = outcome.seconds / before - 1
    changes = tuple(
        Change(what=f"{field}: {inline(value)}", field=field, value=value)
        for field, value in edits_between(base, outcome.setup)
    )
    return Alternative(
        setup=outcome.setup,
        required=outcome.room.required,
        usable=outcome.room.usable,
        seconds=outcome.seconds,
        rate=outcome.rate,
        changes=changes,
        slower=slower,
        step=None if outcome.seconds is None else estimator.seconds(outcome.setup),
    )


def _step(turn: Turn) -> FitStep:
    what = " and ".join(knob_meaning(knob, turn.after.setup) for knob in turn.knobs)
    change = ", ".join(knob_text(knob, turn.before.setup, turn.after.setup) for knob in turn.knobs)
    saved = f"saves {gib(turn.saved)}" if turn.saved >= 0 else f"takes {gib(-turn.saved)} more"
    return FitStep(
        text=f"{what} {saved}{_costs(turn.slower)}", change=change, saved=turn.saved, slower=turn.slower
    )


def _costs(slower: float | None) -> str:
    if slower is None:
        return ""
    percent = round(abs(slower) * 100)
    if percent == 0:
        return ", costs no time"
    return f", costs {percent} % time" if slower > 0 else f", saves {percent} % time"


def with_fit(situation: Situation, found: Fit) -> Situation:
    """The situation with the solver's answer in its plan."""
    return replace(situation, plan=replace(situation.plan, fit=found))
