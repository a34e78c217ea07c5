"""What a script tells of itself: steps, losses, phases, what it waits for, and lines for people."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterable, Iterator
from typing import Any, Callable, TypeVar

from tonnage_agent.progress import Reporter

Item = TypeVar("Item")
_KINDS = ("data", "collective")


class Telling:
    """Counts steps and times, and tells the agent; `Run` decides on top of it."""

    def __init__(self, reporter: Reporter, rank: int, say: Callable[[str], None] | None) -> None:
        self._reporter = reporter
        self._rank = rank
        self._say = say or _say_on_stderr
        self._waited: dict[str, float] = {}
        self._loss: float | None = None
        self.num_done = 0
        """Steps made by this process."""
        self.step_seconds = 0.0
        """What a step takes, smoothed."""

    def note(self, *, loss: float | None = None) -> None:
        """What the next step's message carries; give plain numbers, a GPU tensor would make the GPU wait."""
        self._loss = None if loss is None else float(loss)

    @contextlib.contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Mark what the script does: load, preprocess, eval, any name."""
        self._reporter.phase(name, "begin")
        try:
            yield
        finally:
            self._reporter.phase(name, "end")

    @contextlib.contextmanager
    def waiting(self, kind: str) -> Iterator[None]:
        """Count time of this step as waiting for `data` or `collective`."""
        if kind not in _KINDS:
            raise ValueError(f"waiting for {kind!r} is not counted; expected one of {', '.join(_KINDS)}")
        began = time.perf_counter()
        try:
            yield
        finally:
            self._waited[kind] = self._waited.get(kind, 0.0) + time.perf_counter() - began

    def loading(self, batches: Iterable[Item]) -> Iterator[Item]:
        """The same batches; the time they take to come is counted as waiting for data."""
        iterator, clock = iter(batches), time.perf_counter
        while True:
            began = clock()
            try:
                batch = next(iterator)
            except StopIteration:
                return
            self._waited["data"] = self._waited.get("data", 0.0) + clock() - began
            yield batch

    def say(self, text: str) -> None:
        """One line for people, and for the agent; rank 0 speaks for all."""
        if self._rank == 0:
            self._say(text)
            self._reporter.event("message", text=text)

    def tell(self, event: str, **values: Any) -> None:
        """One rare event for the agent."""
        self._reporter.event(event, **values)

    def passed_over(self, path: str, why: str) -> None:
        """A checkpoint that is not whole, told once."""
        self._reporter.event("skipped", path=path, why=why)
        if self._rank == 0:
            self._say(f"checkpoint {path} is passed over: {why}")

    def tell_step(self, step: int, total: int | None, seconds: float | None) -> None:
        """One step was made."""
        self.num_done += 1
        if seconds is not None:
            self.step_seconds = seconds if self.num_done < 3 else 0.7 * self.step_seconds + 0.3 * seconds
        self._reporter.step(
            step,
            total=total,
            loss=self._loss,
            seconds=seconds,
            data=self._waited.get("data"),
            collective=self._waited.get("collective"),
        )
        if self._waited:
            self._waited = {}


def _say_on_stderr(text: str) -> None:
    print(f"tonnage: {text}", file=sys.stderr, flush=True)
