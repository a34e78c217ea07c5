"""Lines the command prints, read for steps, phases and ranks that failed.

Called by the threads that pass the output on, so it must not fail and must cost next to nothing. Most lines hold none
of the words that matter and are done with at once. For the others there is a budget of time: a command that prints
thousands of such lines a second has some of them passed over, the ones about failing ranks excepted. What was found
waits in a queue with an end until the loop comes for it.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import Any

from tonnage_agent.hearing.phases import phase_of
from tonnage_agent.hearing.ranks import RankReader
from tonnage_agent.hearing.steps import StepReader

SHARE = 0.005
"""Of a core, for reading lines in the long run."""
BURST_SECONDS = 0.25
_LONGEST = 1000
"""Characters of a line that are read; patterns of users may be slow on long ones."""
_RANK_WORDS = ("rank", "process", "task", "root cause")
_STEP_WORDS = ("step", "iter", "epoch", "batch", "update", "loss", "%|", "train: ")
_PHASE_WORDS = ("sav", "load", "eval", "valid", "check", "token", "process", "map", "filter", "pack", "generat",
                "build", "shuffl", "cach", "phase", "test", "sanity", "writ", "instantiat", "predict")  # fmt: skip


class LogReader:
    """Both streams of a command; `taken` gives what was found since."""

    def __init__(
        self,
        pattern: str = "",
        wake: Callable[[], object] = lambda: None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        """`wake` is called when something was found that should not wait."""
        self._steps, self._ranks = StepReader(pattern), RankReader()
        self._has_pattern = bool(pattern)
        self._events: deque[dict[str, Any]] = deque(maxlen=1000)
        self._phase, self._wake, self._clock = "", wake, clock
        self._allowance, self._counted_at = BURST_SECONDS, clock()

    @property
    def first_rank(self) -> int | None:
        return self._ranks.first

    def read(self, line: str) -> None:
        """Take in one line."""
        line = line[:_LONGEST]
        lower = line.lower()
        if _has_any(lower, _RANK_WORDS):
            self._ranks.read(line)
        may_be_step = (
            self._has_pattern or _has_any(lower, _STEP_WORDS) or ("/" in line and line.lstrip()[:1].isdigit())
        )
        may_be_phase = _has_any(lower, _PHASE_WORDS)
        if may_be_step or may_be_phase:
            self._within_budget(line, may_be_step, may_be_phase)

    def taken(self) -> list[dict[str, Any]]:
        """Events found since the last call, oldest first."""
        events = []
        while self._events:
            events.append(self._events.popleft())
        return events

    def _within_budget(self, line: str, may_be_step: bool, may_be_phase: bool) -> None:
        began = self._clock()
        self._allowance = min(self._allowance + (began - self._counted_at) * SHARE, BURST_SECONDS)
        self._counted_at = began
        if self._allowance <= 0:
            return
        self._look(line, may_be_step, may_be_phase)
        self._allowance -= self._clock() - began

    def _look(self, line: str, may_be_step: bool, may_be_phase: bool) -> None:
        event = self._steps.read(line) if may_be_step else None
        if event is not None:
            self._begin("step")
            self._events.append({**event, "when": time.time()})
            return
        phase = phase_of(line) if may_be_phase else ""
        if phase:
            self._begin(phase)

    def _begin(self, phase: str) -> None:
        if phase != self._phase:
            self._phase = phase
            self._events.append({"event": "phase", "name": phase, "state": "begin", "when": time.time()})
            self._wake()


def _has_any(text: str, words: tuple[str, ...]) -> bool:
    return any(word in text for word in words)
