"""The only judge: what to do about a run, from what is seen of it now.

Level-triggered: the answer depends on the situation alone, never on which event woke us or what was answered
before. So it may be asked at any time, by whoever holds the run, after any crash; asked twice without a change it
answers the same, and what has been carried out is not asked for again (the ending that was recorded and the attempt
that was launched are in the history the next question carries).

    no attempt yet     launch the first
    one is live        `watching`: wishes, deadline, budget, waiting, hang
    it ended           record the ending once it is classified; until then wait and look again
    the last is over   `following`: finished, given up, or the next attempt with its remedy
"""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

from tonnage.running.actions import Action, Launch, Record
from tonnage.running.attempts import Attempt, Ending
from tonnage.running.following import follow
from tonnage.running.observing import Observation, Situation
from tonnage.running.policies import Policies
from tonnage.running.watching import watch


def decide(situation: Situation, policies: Policies, now: dt.datetime) -> tuple[Action, ...]:
    """What to do now; nothing where the right thing is to wait and look again."""
    if not situation.attempts:
        return (_first(situation),) if situation.wish == "run" else ()
    last = situation.attempts[-1]
    if last.ending is not None:
        return follow(situation, policies)
    ending = _ending_of(last, situation, now)
    if ending is not None:
        over = replace(situation, attempts=(*situation.attempts[:-1], replace(last, ending=ending)))
        return (Record(attempt=last, ending=ending), *follow(over, policies))
    if needs_ending(last, situation.observation):
        return ()
    return watch(situation, policies, now)


def needs_ending(attempt: Attempt, observation: Observation) -> bool:
    """Whether the attempt is over and waits to be classified: its evidence should be gathered now."""
    is_gone = observation.state == "absent" and attempt.started is not None
    return attempt.ending is None and (observation.state == "ended" or is_gone)


def _first(situation: Situation) -> Launch:
    return Launch(number=1, size=situation.first_size, why="as planned")


def _ending_of(attempt: Attempt, situation: Situation, now: dt.datetime) -> Ending | None:
    """The ending to record: as classified, or one of our own where we took the attempt away."""
    seen = situation.observation
    if seen.ending is not None:
        # An end that nothing explains, while its owner wants it ended, is what its owner wanted.
        is_wished = seen.ending.cause == "unknown" and situation.wish != "run"
        return replace(seen.ending, cause="stopped", summary="stopped") if is_wished else seen.ending
    is_unborn = seen.state == "absent" and attempt.started is None
    if seen.state == "suspended" or (is_unborn and situation.wish != "run"):
        what = "suspended" if seen.state == "suspended" else "taken back before it started"
        return Ending(
            when=seen.since or now,
            cause="stopped",
            summary=what,
            step=seen.progress.step if seen.progress else None,
            safe_step=seen.saved.step if seen.saved else None,
        )
    return None
