"""How far a measured growth can be believed, and how much it adds until the end.

A slope over the last minutes may be a model being loaded or a cache that fills: carried on for hours it asks for
terabytes, and refuses a run that would have lived. So growth counts only where steps were made, never faster than the
whole peak over the whole life, and no further than twenty times as long as it was watched.
"""

from __future__ import annotations

from dataclasses import dataclass

from tonnage.running.attempts import Attempt, Ending

REACH = 20.0
"""How many times its own life a trend is carried on."""
FILLED_SHARE = 0.3
"""Part of the peak that growth must explain to be what filled it."""


@dataclass(frozen=True, slots=True)
class Leak:
    """What growth will add."""

    until_end: float
    """Bytes until the steps are done."""
    filled_it: bool
    """Whether it is what the attempt died of, as far as one can tell."""


def leak_of(attempt: Attempt, ending: Ending, peak: int) -> Leak | None:
    """The leak that the ending shows; None where there is none to believe."""
    rate, left = ending.growth_per_second, ending.seconds_left
    if rate is None or rate <= 0 or left is None or attempt.started is None:
        return None
    began_at = max(attempt.from_step or 0, 0)
    lived = (ending.when - attempt.started).total_seconds()
    if ending.step is None or ending.step <= began_at or lived <= 0:
        return None
    rate = min(rate, peak / lived)
    return Leak(rate * min(max(left, 0.0), REACH * lived), rate * lived >= FILLED_SHARE * peak)
