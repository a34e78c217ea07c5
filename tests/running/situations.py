"""Builders of situations: a run at one moment, with only what a test cares for."""

from __future__ import annotations

import datetime as dt
from typing import Any

from tonnage.running.attempts import Attempt, Cause, Ending, Size
from tonnage.running.observing import Observation, Situation
from tonnage.running.policies import Policies, retries_of
from tonnage.spec.run.policies import Retries

NOW = dt.datetime(2026, 3, 1, 12, 0, tzinfo=dt.UTC)
GIB = 2**30


def ago(seconds: float) -> dt.datetime:
    return NOW - dt.timedelta(seconds=seconds)


def policies(**more: Any) -> Policies:
    """The defaults of a document that says nothing, with what a test changes."""
    return Policies(**{"retries": retries_of(Retries()), **more})


def an_ending(cause: Cause | None = "host_oom", code: str = "MEM-01", **more: Any) -> Ending:
    return Ending(**{"when": NOW, "cause": cause, "code": code if cause else "", "step": 100, **more})


def an_attempt(number: int = 1, ending: Ending | None = None, **more: Any) -> Attempt:
    size = more.pop("size", Size(memory=10 * GIB))
    return Attempt(
        **{
            "number": number,
            "size": size,
            "created": ago(3600),
            "started": ago(3600),
            "ending": ending,
            **more,
        }
    )


def a_situation(*attempts: Attempt, state: str = "absent", **more: Any) -> Situation:
    """A run whose current attempt is in this state; names of an observation go into it."""
    seen = {name: more.pop(name) for name in list(more) if name in Observation.__dataclass_fields__}
    return Situation(
        **{
            "name": "bert",
            "wish": "run",
            "attempts": attempts,
            "observation": Observation(state=state, **seen),  # type: ignore[arg-type]
            "first_size": Size(memory=10 * GIB),
            **more,
        }
    )
