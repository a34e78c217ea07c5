"""What a policy would have done: a walk through the past in which nothing is known before it happened.

Instances are taken in order of start. Before each, the policy is told what became known until then: peaks of instances
that ended, limits of attempts that died. An attempt below the instance's peak dies after `time_to_failure` x its
runtime and wastes its whole limit meanwhile; the policy's bump follows; the attempt that is enough runs its full time
after that and wastes limit - peak. So a death delays when the peak is known, and tasks that start in a burst cannot
learn from each other: revealing a death at its instance's start instead would halve some policies' OOM rates.

Which instances count is decided by the trace's own ends (`min_history` earlier instances had ended when this one
started), so that every policy is judged on the same ones.

Cost grows as n log n in the instances, for each policy and time to failure; memory as n.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush

from tonnage.sizing.policy import Policy, Sizer
from tonnage.sizing.task import FLOOR, GIB_HOUR, Task

TIMES_TO_FAILURE = (1.0, 0.5)
MIN_HISTORIES = (1, 3, 10)
MOST_RETRIES = 64
"""A bump that does not grow would never end; the best of them need three."""


@dataclass
class Score:
    """How one policy did on the instances with enough history."""

    first_attempts: int = 0
    deaths: int = 0
    retries: int = 0
    waste_gib_hours: float = 0.0

    @property
    def oom_rate(self) -> float:
        """Share of first attempts that died at their limit."""
        return self.deaths / self.first_attempts if self.first_attempts else 0.0

    def count(self, retries: int, waste: float) -> None:
        self.first_attempts += 1
        self.deaths += retries > 0
        self.retries += retries
        self.waste_gib_hours += waste


@dataclass
class _Signature:
    """One signature's sizer on the walk, and how many of its instances had ended in the trace."""

    sizer: Sizer
    ends: list[float] = field(default_factory=list)
    num_ended: int = 0
    num_started: int = 0

    def history_at(self, start: float) -> int:
        while self.ends and self.ends[0] <= start:
            heappop(self.ends)
            self.num_ended += 1
        return self.num_ended


Watcher = Callable[[Task, int, float, int, float], None]
"""Told of every instance: the task, its history, its first limit, its retries, its waste in GiB-hours."""


def in_order(tasks: Iterable[Task]) -> list[Task]:
    """The order of the walk: by start; instances that start in the same moment stay in the order of the rows."""
    return sorted(tasks, key=lambda task: task.start)


def walk(
    ordered: Sequence[Task], policy: Policy, time_to_failure: float, watcher: Watcher | None = None
) -> dict[int, Score]:
    """How a policy does on tasks in order of start, by how much history an instance had at least."""
    scores = {least: Score() for least in MIN_HISTORIES}
    signatures: dict[str, _Signature] = {}
    new_sizer = policy.open()
    coming: list[tuple[float, int, int, Sizer, int, float, float, bool]] = []
    for number, task in enumerate(ordered):
        _tell_until(task.start, coming)
        known = signatures.get(task.signature)
        if known is None:
            known = signatures[task.signature] = _Signature(new_sizer())
        history = known.history_at(task.start)
        heappush(known.ends, task.end)
        sizer, run = known.sizer, known.num_started
        known.num_started += 1
        first = limit = max(FLOOR, sizer.limit(task.start, task.requested))
        sizer.started(run, task.start)
        moment, retries, wasted = task.start, 0, 0.0
        lasting = time_to_failure * task.seconds
        while limit < task.peak:
            moment += lasting
            wasted += limit * lasting
            heappush(coming, (moment, number, retries, sizer, run, limit, lasting, False))
            retries += 1
            bumped = sizer.bump(limit, task.requested) if retries < MOST_RETRIES else task.peak
            limit = max(FLOOR, bumped)
        wasted = (wasted + (limit - task.peak) * task.seconds) / GIB_HOUR
        heappush(coming, (moment + task.seconds, number, retries, sizer, run, task.peak, task.seconds, True))
        for least, score in scores.items():
            if history >= least:
                score.count(retries, wasted)
        if watcher is not None:
            watcher(task, history, first, retries, wasted)
    return scores


def _tell_until(start: float, coming: list[tuple[float, int, int, Sizer, int, float, float, bool]]) -> None:
    """Tell the sizers what became known until an instance's start, in order."""
    while coming and coming[0][0] <= start:
        moment, _, _, sizer, run, amount, seconds, is_end = heappop(coming)
        if is_end:
            sizer.ended(run, moment, amount, seconds)
        else:
            sizer.failed(run, moment, amount, seconds)
