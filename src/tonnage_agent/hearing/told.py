"""All that was told of the training so far: steps, phases, checkpoints, by whichever means.

The SDK's word beats the log's: once a step (or a phase) came over the socket, those read from lines are ignored.
With several ranks in one pod the lowest one that speaks is quoted; how far each of them is, is kept beside it, since
the one that stopped first is the one to look at.
"""

from __future__ import annotations

import math
from typing import Any

SMOOTHING = 0.1
"""Weight of the newest step in the mean times of a step: about the last ten count."""
_CHECKPOINT: tuple[str, ...] = ("step", "path", "seconds", "bytes")
_MOST_RANKS = 64
_MOST_SKIPPED = 20


class Told:
    """What is known; fed by events, read when a record is made."""

    def __init__(self) -> None:
        self.step: int | None = None
        self.total: int | None = None
        self.loss: float | None = None
        self.step_at: float | None = None
        self.step_seconds: float | None = None
        self.data_seconds: float | None = None
        self.collective_seconds: float | None = None
        self.phase = ""
        self.checkpoint: dict[str, Any] = {}
        self.resumed_from: int | None = None
        self.skipped: list[str] = []
        self.message = ""
        self.ranks: dict[int, int] = {}
        self.rank_pids: dict[int, int] = {}
        self._first_step: int | None = None
        self._open_phases: list[str] = []
        self._sources: dict[str, str] = {}

    def hear(self, event: dict[str, Any], now: float, source: str = "sdk") -> bool:
        """Take in one event; True where it is one worth writing down at once."""
        kind = event.get("event")
        if kind in ("step", "phase"):
            if source == "log" and self._sources.get(kind) == "sdk":
                return False
            self._sources[kind] = source
        when = _number(event.get("when")) or now
        if kind == "step":
            return self._hear_step(event, when)
        if kind == "phase":
            return self._hear_phase(event, source)
        if kind == "checkpoint":
            step = _whole(event.get("step"))
            if step is not None:
                self.checkpoint = {name: event[name] for name in _CHECKPOINT if name in event}
                self.checkpoint["when"] = when
            return step is not None
        if kind == "resumed":
            self.resumed_from = _whole(event.get("step"))
            return True
        if kind == "skipped":
            self.skipped = [*self.skipped, f"{event.get('path', '?')}: {event.get('why', '?')}"][
                -_MOST_SKIPPED:
            ]
            return True
        if kind == "message":
            self.message = str(event.get("text", ""))[:500]
            return True
        return False

    @property
    def steps_in_log(self) -> int:
        """Steps made since the first that was told, where only the log tells them."""
        if self.step is None or self._first_step is None or self._sources.get("step") != "log":
            return 0
        return self.step - self._first_step + 1

    def is_done(self, code: int) -> bool:
        """Whether it made its last step: then its end is its own, whoever asked for it meanwhile."""
        return code == 0 and self.total is not None and self.step is not None and self.step >= self.total

    def _hear_step(self, event: dict[str, Any], when: float) -> bool:
        step = _whole(event.get("step"))
        if step is None:
            return False
        rank = _whole(event.get("rank")) or 0
        pid = _whole(event.get("pid"))
        if pid is not None:
            self.rank_pids[rank] = pid
        if rank in self.ranks or len(self.ranks) < _MOST_RANKS:
            self.ranks[rank] = step
        if rank > min(self.ranks):
            return False
        self._first_step = step if self._first_step is None else self._first_step
        self._time(event, step, when)
        self.step, self.step_at = step, when
        total, loss = _whole(event.get("total")), _number(event.get("loss"))
        if loss is None and isinstance(event.get("loss"), float):
            self.message = f"loss is {event['loss']} at step {step}"
        self.total = total if total is not None else self.total
        self.loss = loss if loss is not None else self.loss
        return False

    def _time(self, event: dict[str, Any], step: int, when: float) -> None:
        """Mean seconds per step, from the script's own clock or from the distance of two steps."""
        seconds = _number(event.get("seconds"))
        if seconds is None and self.step is not None and self.step_at is not None and step > self.step:
            seconds = max(when - self.step_at, 0.0) / (step - self.step)
        self.step_seconds = _smooth(self.step_seconds, seconds)
        self.data_seconds = _smooth(self.data_seconds, _number(event.get("data")))
        self.collective_seconds = _smooth(self.collective_seconds, _number(event.get("collective")))

    def _hear_phase(self, event: dict[str, Any], source: str) -> bool:
        """Phases may lie inside each other (a save inside an epoch); those of rank 0, or untold, count."""
        name = event.get("name")
        if (
            not isinstance(name, str)
            or not name
            or (_whole(event.get("rank")) or 0) > min(self.ranks, default=0)
        ):
            return False
        before, name = self.phase, name[:64]
        if source == "log":  # lines seldom tell the end of anything: a phase lasts until the next
            self._open_phases = [name]
        elif event.get("state") == "end":
            if name in self._open_phases:
                self._open_phases = self._open_phases[: _last_index(self._open_phases, name)]
        else:
            self._open_phases = [*self._open_phases, name][-16:]
        self.phase = self._open_phases[-1] if self._open_phases else ""
        return self.phase != before


def _last_index(names: list[str], name: str) -> int:
    return len(names) - 1 - names[::-1].index(name)


def _smooth(before: float | None, newest: float | None) -> float | None:
    if newest is None:
        return before
    return newest if before is None else before + SMOOTHING * (newest - before)


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _number(value: object) -> float | None:
    """A number that JSON can carry again; NaN is an answer of its own for a loss, told as text elsewhere."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if math.isfinite(value) else None
