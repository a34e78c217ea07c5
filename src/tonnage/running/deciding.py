"""The only judge: what to do about a run, from what is seen of it now.

Level-triggered: the answer depends on the situation alone, never on which event woke us or what was answered
before. So it may be asked at any time, by whoever holds the run, after any crash; asked twice without a change it
answers the same, and what has been carried out is not asked for again (the ending that was recorded and the attempt
that was launched are in the history the next question carries).
"""

from __future__ import annotations

import datetime as dt

from tonnage.running.actions import Action
from tonnage.running.observing import Situation
from tonnage.running.policies import Policies


def decide(situation: Situation, policies: Policies, now: dt.datetime) -> tuple[Action, ...]:
    """What to do now; nothing where the right thing is to wait and look again."""
    raise NotImplementedError
