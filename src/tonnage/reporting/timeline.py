"""A traced step as Chrome trace events: a file that Perfetto or a browser's tracing page opens.

Two counters (memory by category, and what the allocator holds), one track of phases and one of modules, nested as
they are in the model. Time is the predicted time of each operation where it is known; else every call takes one
microsecond, and the file says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tonnage.memory.estimate import CATEGORIES, Estimate
from tonnage.memory.trace import Trace

PROCESS = 1
PHASES, MODULES, OPERATIONS = 1, 2, 3
MIB = 2**20


def timeline_of(
    trace: Trace, estimate: Estimate, seconds: Sequence[float] | None = None
) -> dict[str, object]:
    """The last traced step; `seconds` is what each operation of the trace takes."""
    clock = _Clock(trace, seconds)
    first = min((sample.call for sample in estimate.samples if sample.call >= 0), default=0)
    calls = range(first, len(trace.calls))
    events = [
        *_names(trace),
        *_counters(estimate, clock, first),
        *_slices(trace, calls, clock),
    ]
    unit = "predicted" if seconds is not None else "one microsecond per call; no time was predicted"
    return {
        "traceEvents": events,
        "displayTimeUnit": "ms",
        "otherData": {"gpu": estimate.gpu, "mode": estimate.mode, "time": unit, "torch": trace.torch},
    }


@dataclass(slots=True)
class _Clock:
    """Microseconds at which each call begins and ends."""

    trace: Trace
    seconds: Sequence[float] | None
    starts: list[float] = field(init=False)

    def __post_init__(self) -> None:
        now, starts = 0.0, []
        for call in self.trace.calls:
            starts.append(now)
            now += 1.0 if self.seconds is None else max(0.1, self.seconds[call.operation] * 1e6)
        starts.append(now)
        self.starts = starts

    def begin(self, call: int) -> float:
        return self.starts[call]

    def end(self, call: int) -> float:
        return self.starts[call + 1]


def _names(trace: Trace) -> Iterator[dict[str, object]]:
    title = f"training step, rank {trace.rank} of {trace.world_size}"
    yield {"ph": "M", "pid": PROCESS, "name": "process_name", "args": {"name": title}}
    for thread, name in ((PHASES, "phases"), (MODULES, "modules"), (OPERATIONS, "operations")):
        yield {"ph": "M", "pid": PROCESS, "tid": thread, "name": "thread_name", "args": {"name": name}}
        yield {
            "ph": "M",
            "pid": PROCESS,
            "tid": thread,
            "name": "thread_sort_index",
            "args": {"sort_index": thread},
        }


def _counters(estimate: Estimate, clock: _Clock, first: int) -> Iterator[dict[str, object]]:
    start = clock.begin(first)
    now = start
    for sample in estimate.samples:
        if sample.call >= 0:
            now = clock.begin(sample.call)
        held = {name: round(size / MIB, 3) for name, size in zip(CATEGORIES, sample.parts, strict=True)}
        yield {"ph": "C", "pid": PROCESS, "name": "allocated (MiB)", "ts": now - start, "args": held}
        reserved = {"reserved": round(sample.reserved / MIB, 3)}
        yield {"ph": "C", "pid": PROCESS, "name": "reserved (MiB)", "ts": now - start, "args": reserved}


def _slices(trace: Trace, calls: range, clock: _Clock) -> Iterator[dict[str, object]]:
    """Phases, modules (one nested slice per part of the path) and operations."""
    start = clock.begin(calls.start) if len(calls) else 0.0
    open_phase: tuple[str, float] | None = None
    open_modules: list[tuple[str, float]] = []
    now = start
    for call in calls:
        traced, now = trace.calls[call], clock.begin(call)
        phase = trace.phases[traced.phase]
        path = [part for part in trace.modules[traced.module].split(".") if part]
        if open_phase is None or open_phase[0] != phase:
            if open_phase is not None:
                yield _slice(PHASES, open_phase[0], open_phase[1] - start, now - open_phase[1])
            open_phase = (phase, now)
            yield from _close(open_modules, 0, now, start)
        same = 0
        while same < min(len(path), len(open_modules)) and open_modules[same][0] == path[same]:
            same += 1
        yield from _close(open_modules, same, now, start)
        open_modules += [(name, now) for name in path[same:]]
        operation = trace.operations[traced.operation].name
        yield _slice(OPERATIONS, operation, now - start, clock.end(call) - now)
        now = clock.end(call)
    if open_phase is not None:
        yield _slice(PHASES, open_phase[0], open_phase[1] - start, now - open_phase[1])
    yield from _close(open_modules, 0, now, start)


def _close(
    modules: list[tuple[str, float]], keep: int, now: float, start: float
) -> Iterator[dict[str, object]]:
    while len(modules) > keep:
        name, since = modules.pop()
        yield _slice(MODULES, name, since - start, now - since)


def _slice(thread: int, name: str, at: float, duration: float) -> dict[str, object]:
    return {
        "ph": "X", "pid": PROCESS, "tid": thread, "name": name, "ts": round(at, 3), "dur": round(duration, 3)
    }  # fmt: skip
