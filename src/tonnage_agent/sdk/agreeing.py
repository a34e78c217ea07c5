"""All ranks decide the same: a save that only some begin is a deadlock.

Agreeing costs a message between all ranks, so it is not done at every step: each agreement also fixes the step of
the next one, about a second later by rank 0's clock. Only rank 0's clock says what is due; a SIGTERM or a wish of
any rank's agent counts for all.
"""

from __future__ import annotations

from dataclasses import replace

from tonnage_agent.keeper.ranks import Ranks
from tonnage_agent.sdk.deciding import REASONS, Moment, Verdict, decide

_SECONDS_BETWEEN = 1.0
_MOST_STEPS = 1000
_NEVER = 1e18


class Agreement:
    """What the ranks agreed on last, and when they will again."""

    def __init__(self) -> None:
        self.verdict = Verdict()
        self.is_used = False
        self._step = -1
        self._next = -1

    def is_for(self, step: int) -> bool:
        """Whether this step has been agreed on."""
        return self.is_used and self._step == step

    def reach(self, ranks: Ranks, step: int, moment: Moment) -> Verdict:
        """Agree on this step, where it is time to; called by every rank for every step."""
        self.is_used = True
        if self._step == step:
            return self.verdict
        self._step = step
        self.verdict = Verdict()
        is_fixed = _is_fixed(moment)  # all ranks know these moments by themselves
        if step < self._next and not is_fixed:
            return self.verdict
        mine = decide(moment if ranks.rank == 0 else replace(moment, due_in=None, deadline_in=None))
        left = _NEVER if moment.seconds_left is None else moment.seconds_left
        next_step = (
            float(step + _steps_until_next(moment.step_seconds, moment.due_in)) if ranks.rank == 0 else -1.0
        )
        told = ranks.largest(
            [
                float(REASONS.index(mine.stop)),
                float(mine.save or mine.is_late),
                next_step,
                -left,
                moment.save_seconds or 0.0,
            ]
        )
        self._next = int(told[2])
        shortest = None if -told[3] >= _NEVER else -told[3]
        late = (
            shortest is not None
            and decide(replace(moment, seconds_left=shortest, save_seconds=told[4])).is_late
        )
        wanted = bool(told[1])
        self.verdict = Verdict(save=wanted and not late, stop=REASONS[int(told[0])], is_late=wanted and late)
        return self.verdict


def _is_fixed(moment: Moment) -> bool:
    is_last = moment.total is not None and moment.step >= moment.total - 1
    is_probed = moment.probe_steps is not None and moment.num_done >= moment.probe_steps
    return is_last or is_probed


def _steps_until_next(step_seconds: float, due_in: float | None) -> int:
    """Rank 0's choice: about a second, and not past the moment a save is due.

    >>> _steps_until_next(0.1, None), _steps_until_next(3.0, 60.0), _steps_until_next(0.1, 0.3)
    (10, 1, 3)
    """
    if step_seconds <= 0:
        return 1
    seconds = _SECONDS_BETWEEN if due_in is None else min(_SECONDS_BETWEEN, due_in)
    return max(1, min(_MOST_STEPS, round(seconds / step_seconds)))
