"""How long the steady step of a trace takes on a GPU."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache

import msgspec

from tonnage.cluster.gpu_facts import facts_of
from tonnage.cluster.gpus import GpuType
from tonnage.memory.estimate import Interval
from tonnage.memory.trace import Call, Operation, Trace
from tonnage.timing.calibration import Calibration, calibration
from tonnage.timing.collective import Interconnect, collective_seconds
from tonnage.timing.kernels import work_seconds
from tonnage.timing.moving import waits
from tonnage.timing.queues import Asked, Timelines, play
from tonnage.timing.reading import work_of
from tonnage.timing.work import Arithmetic, Kind, Work

_WIDE = 1.2816
"""Standard deviations to either side that hold 80 %."""
MOST_KNOWN = 20_000
"""Operations whose cost is remembered for one GPU."""


class StepTime(msgspec.Struct, frozen=True):
    """A step's seconds and what they consist of."""

    seconds: Interval
    device_busy: float
    """Seconds the device works."""
    host: float
    """Seconds the host needs to ask for everything."""
    exposed_communication: float
    by_kind: dict[Kind, float]
    """Seconds of the device by kind of work."""
    flops: float
    measured_on_device: bool
    """Whether this GPU itself was measured; else its figures are carried over by data sheet."""

    @property
    def launch_bound(self) -> float:
        """Share of the step in which the device waits for the host."""
        idle = self.seconds.p50 - self.device_busy - self.exposed_communication
        return max(0.0, idle / self.seconds.p50) if self.seconds.p50 else 0.0


def step_time(trace: Trace, gpu: GpuType, *, interconnect: Interconnect | None = None) -> Interval:
    """Seconds of one steady step, with their 80 % interval."""
    return analysed_step(trace, gpu, interconnect=interconnect).seconds


def analysed_step(
    trace: Trace,
    gpu: GpuType,
    *,
    interconnect: Interconnect | None = None,
    measured: Calibration | None = None,
) -> StepTime:
    """Seconds of one steady step and what they consist of."""
    chosen = measured or calibration()
    reader = _Reader(trace, gpu, chosen, interconnect or Interconnect())
    lines = play(reader.calls(), chosen.gap)
    return _told(lines, reader, gpu, chosen)


class _Cost(msgspec.Struct, frozen=True):
    work: Work
    seconds: float
    waits: bool


class _Reader:
    """Turns a trace's calls into what the timelines play, and keeps the sums."""

    def __init__(self, trace: Trace, gpu: GpuType, measured: Calibration, interconnect: Interconnect) -> None:
        self.trace, self.gpu, self.measured = trace, gpu, measured
        self.interconnect = interconnect
        self.arithmetic = Arithmetic.of(trace.settings)
        self.by_kind: dict[Kind, float] = {}
        self.flops = 0.0
        self.host = 0.0
        self._costs: dict[int, _Cost] = {}

    def calls(self) -> Iterator[Asked]:
        """A step asks for few different things, each many times over."""
        phase_before = -1
        phases, known = self.trace.phases, dict[tuple[int, int, bool], tuple[Asked, Work]]()
        by_kind = self.by_kind
        for call in steady_calls(self.trace):
            number, phase = call.operation, call.phase
            begins = phase != phase_before and phases[phase] == "optimizer"
            phase_before = phase
            found = known.get((number, phase, begins))
            if found is None:
                found = known[number, phase, begins] = self._asked(number, phases[phase], begins)
            asked, work = found
            self.host += asked.host
            self.flops += work.flops
            by_kind[work.kind] = by_kind.get(work.kind, 0.0) + asked.device
            yield asked

    def _asked(self, number: int, phase: str, begins: bool) -> tuple[Asked, Work]:
        """One call of an operation in a phase; `begins` where the optimizer's part begins with it."""
        operation = self.trace.operations[number]
        cost = self._cost(number, operation)
        asked = Asked(
            host=self.measured.host.seconds(operation, cost.work, phase),
            device=cost.seconds,
            kernels=cost.work.kernels,
            trailing=self.measured.host.trailing(cost.work),
            waits=cost.waits,
            is_collective=cost.work.kind == "collective",
            joins=cost.work.family == "wait" or begins,
        )
        return asked, cost.work

    def _cost(self, number: int, operation: Operation) -> _Cost:
        found = self._costs.get(number)
        if found is None:
            found = self._costs[number] = self._remembered_cost(operation)
        return found

    def _remembered_cost(self, operation: Operation) -> _Cost:
        """Steps of one model at several depths and batches share most operations: each is worked out once."""
        if self.measured is not calibration():
            return self._worked_out(operation)
        known = _known_costs(self.gpu.name, self.arithmetic)
        key = (operation.name, operation.inputs, operation.outputs, repr(operation.scalars))
        found = known.get(key)
        if found is None:
            found = self._worked_out(operation)
            if found.work.kind != "collective" and len(known) < MOST_KNOWN:
                known[key] = found
        return found

    def _worked_out(self, operation: Operation) -> _Cost:
        work = work_of(operation, self.arithmetic)
        if work.kind == "collective":
            ranks = self.trace.world_size
            seconds = collective_seconds(work, facts_of(self.gpu), ranks, self.interconnect)
        else:
            seconds = work_seconds(work, self.gpu, self.measured).seconds
        return _Cost(work, seconds, waits(operation))


@lru_cache(maxsize=64)
def _known_costs(_gpu: str, _arithmetic: Arithmetic) -> dict[tuple[object, ...], _Cost]:
    return {}


def steady_calls(trace: Trace) -> Iterator[Call]:
    """The calls of the last step: those behind the last mark that names a step and has any."""
    starts = [place for place, kind in enumerate(trace.kinds) if kind == "m"]
    ends = [*starts[1:], len(trace.kinds)]
    spans = list(zip(starts, ends, strict=True)) or [(0, len(trace.kinds))]
    for begin, end in reversed(spans):
        named = not starts or trace.marks[trace.arguments[begin]].startswith("step")
        if named and "c" in trace.kinds[begin:end]:
            yield from (
                trace.calls[trace.arguments[place]]
                for place in range(begin, end)
                if trace.kinds[place] == "c"
            )
            return


def _told(lines: Timelines, reader: _Reader, gpu: GpuType, measured: Calibration) -> StepTime:
    middle = lines.end
    busy = sum(reader.by_kind.values()) or 1.0
    wide = measured.spread
    wide += sum(
        extra * reader.by_kind.get(kind, 0.0) / busy  # type: ignore[call-overload]
        for kind, extra in measured.spread_by_kind.items()
    )
    idle = max(0.0, 1.0 - (lines.busy + lines.exposed) / middle) if middle else 0.0
    wide += measured.spread_by_kind.get("host", 0.0) * idle  # processors differ more than GPUs of one type
    known = measured.speaks_for(gpu)
    if not known:
        wide += measured.carried_spread
    interval = Interval(middle * math.exp(-wide), middle, middle * math.exp(wide))
    return StepTime(
        seconds=interval,
        device_busy=lines.busy,
        host=reader.host,
        exposed_communication=lines.exposed,
        by_kind=reader.by_kind,
        flops=reader.flops,
        measured_on_device=known,
    )
