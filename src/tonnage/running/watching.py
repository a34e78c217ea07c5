"""An attempt that is live: what may end it, in the order in which it is asked.

Each question is a function from the situation to actions; the first that answers with anything but a word to the
owner, or a wish for a checkpoint, decides.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable

from tonnage.figures import dollars, duration
from tonnage.running.actions import Action, Launch, Save, Stop, Suspend, Tell
from tonnage.running.forecasting import answer as answer_to_forecast
from tonnage.running.observing import Situation
from tonnage.running.policies import Policies

LONG_PHASES = frozenset(
    ("checkpoint", "eval", "evaluation", "validation", "load", "preprocess", "shuffle", "cache")
)
LONG_PHASE_FACTOR = 4
"""Phases that make no steps by their nature get so many times longer."""


def watch(situation: Situation, policies: Policies, now: dt.datetime) -> tuple[Action, ...]:
    """What a live attempt needs; usually nothing."""
    told: list[Action] = []
    for question in _QUESTIONS:
        answer = [each for each in question(situation, policies, now) if not _is_old(each, situation)]
        told.extend(answer)
        if any(not isinstance(each, Tell | Save) for each in answer):
            break
    return tuple(told)


def _is_old(action: Action, situation: Situation) -> bool:
    return isinstance(action, Tell) and action.key in situation.told


def _not_there_yet(situation: Situation, policies: Policies, now: dt.datetime) -> tuple[Action, ...]:
    """It is in the history and nothing of it exists: whoever was to launch it died in between."""
    del policies, now
    last = situation.attempts[-1]
    if situation.observation.state != "absent" or situation.wish != "run":
        return ()
    return (Launch(number=last.number, size=last.size, why=last.why),)


def _wished(situation: Situation, policies: Policies, now: dt.datetime) -> tuple[Action, ...]:
    del policies, now
    if situation.observation.state == "stopping":
        return ()
    match situation.wish:
        case "stop":
            return (Stop(why="stopping: its owner asked"),)
        case "suspend":
            return (Suspend(why="suspended by its owner"),)
        case _:
            return ()


def _past_deadline(situation: Situation, policies: Policies, now: dt.datetime) -> tuple[Action, ...]:
    del now
    if not is_past_deadline(situation, policies) or situation.observation.state == "stopping":
        return ()
    limit = policies.written.get("deadline") or duration(policies.deadline_seconds or 0)
    why = f"deadline: it has run {duration(situation.ran_seconds)} of {limit}"
    return (Stop(why=why, cause="deadline"),)


def _over_budget(situation: Situation, policies: Policies, now: dt.datetime) -> tuple[Action, ...]:
    del now
    if policies.budget is None or situation.observation.state == "stopping":
        return ()
    spent = f"{dollars(situation.spent)} of {dollars(policies.budget)} spent"
    if not is_over_budget(situation, policies):
        nearly = situation.spent >= policies.budget_warn_at * policies.budget
        return (Tell(text=f"budget: {spent}", key="budget-warn"),) if nearly else ()
    match policies.on_exceed:
        case "warn":
            return (Tell(text=f"budget reached: {spent}", key="budget-reached"),)
        case "suspend":
            return (Suspend(why=f"budget: {spent}"),)
        case _:
            return (Stop(why=f"budget: {spent}", cause="budget"),)


def _runs_out_of_memory(situation: Situation, policies: Policies, now: dt.datetime) -> tuple[Action, ...]:
    return answer_to_forecast(situation, policies, now)


def _waited_too_long(situation: Situation, policies: Policies, now: dt.datetime) -> tuple[Action, ...]:
    seen = situation.observation
    limit = policies.max_wait_seconds
    if seen.state != "waiting" or seen.since is None or limit is None:
        return ()
    if (now - seen.since).total_seconds() < limit:
        return ()
    waited = f"it waited {duration(limit)} (maxWait)"
    held = f", held by {seen.held_by}" if seen.held_by else ""
    resume = f"`tonnage resume {situation.name}` tries again"
    return (Suspend(why=f"suspended: {waited}{held}; it holds nothing now; {resume}"),)


def _hangs(situation: Situation, policies: Policies, now: dt.datetime) -> tuple[Action, ...]:
    """No step for many times as long as its steps take. Without steps of its own there is nothing to judge by."""
    seen = situation.observation
    progress = seen.progress
    if seen.state != "running" or progress is None or progress.when is None or not progress.seconds_per_step:
        return ()
    patience = max(policies.hang_floor_seconds, policies.hang_factor * progress.seconds_per_step)
    if progress.phase in LONG_PHASES:
        patience *= LONG_PHASE_FACTOR
    still = (now - progress.when).total_seconds()
    if still <= patience:
        return ()
    usual = f"a step takes {progress.seconds_per_step:.3g} s"
    return (Stop(why=f"no step for {duration(still)} after step {progress.step:,}; {usual}", cause="hang"),)


def is_past_deadline(situation: Situation, policies: Policies) -> bool:
    """Whether all attempts together have run as long as they may."""
    return policies.deadline_seconds is not None and situation.ran_seconds >= policies.deadline_seconds


def is_over_budget(situation: Situation, policies: Policies) -> bool:
    """Whether the run has cost what it may."""
    return policies.budget is not None and situation.spent >= policies.budget


_QUESTIONS: tuple[Callable[[Situation, Policies, dt.datetime], tuple[Action, ...]], ...] = (
    _not_there_yet,
    _wished,
    _past_deadline,
    _over_budget,
    _runs_out_of_memory,
    _waited_too_long,
    _hangs,
)
