"""Outcomes as cases leave them, for tests of the judge."""

from __future__ import annotations

import datetime as dt
from typing import Any

from survival.case import Injury, Outcome, Step

from tonnage.running.attempts import Attempt, Ending, Size

START = dt.datetime(2026, 11, 15, tzinfo=dt.UTC)


def steps(attempt: int, first: int, count: int, *, at: float, every: float = 0.1) -> list[Step]:
    """The journal of one attempt that made so many steps."""
    lines = [Step(attempt=attempt, when=at, pid=attempt, begin=first)]
    lines += [
        Step(
            attempt=attempt,
            when=at + (index + 1) * every,
            pid=attempt,
            step=first + index,
            loss=f"l{first + index}",
        )
        for index in range(count)
    ]
    return lines


def an_attempt(number: int, cause: str | None = None, code: str = "", **size: Any) -> Attempt:
    summary = "" if cause is None else "something happened"
    ending = Ending(when=START, cause=cause, code=code, summary=summary)  # type: ignore[arg-type]
    return Attempt(number=number, size=Size(**size), created=START, started=START, ending=ending)


def a_survivor(**changes: Any) -> Outcome:
    """Killed after step 14 with a checkpoint of step 9, resumed there, finished: nothing wrong with it."""
    values: dict[str, Any] = {
        "case": "rank",
        "seed": 1,
        "place": "machine",
        "every": 1.0,
        "state": "finished",
        "attempts": (an_attempt(1, "unknown", "UNKNOWN"), an_attempt(2)),
        "injuries": [
            Injury(
                kind="rank",
                attempt=1,
                when=1.5,
                codes=frozenset(("UNKNOWN",)),
                causes=frozenset(("unknown",)),
            )
        ],
        "journal": [*steps(1, 0, 15, at=0.0), *steps(2, 10, 20, at=10.0)],
        "reference": {step: f"l{step}" for step in range(30)},
        "weights": "w",
        "reference_weights": "w",
        "records": {1: {"step": 14}, 2: {"step": 29}},
    }
    return Outcome(**{**values, **changes})
