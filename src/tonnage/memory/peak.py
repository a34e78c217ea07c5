"""What a run without a limit looks like from inside: its peaks, what they consist of, and the last step over time."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from tonnage.memory.estimate import CATEGORIES, LargeTensor, Part, PeakPlace, PhasePeak, Sample
from tonnage.memory.program import Program, Stretch
from tonnage.memory.repeating import Repetition
from tonnage.memory.replay import Moment, watch
from tonnage.memory.temporaries.rule import bytes_of
from tonnage.memory.trace import PHASES, Trace

SHOWN = {
    "parameter": "parameters",
    "buffer": "buffers",
    "gradient": "gradients",
    "optimizer": "optimizer",
    "activation": "activations",
    "input": "inputs",
    "temporary": "temporaries",
    "workspace": "workspaces",
}
LARGEST = 10
SAMPLES = 1500


class Profile(msgspec.Struct):
    """What was seen of a run without a limit."""

    peak_allocated: int = 0
    peak_reserved: int = 0
    parts: tuple[int, ...] = (0,) * len(CATEGORIES)
    place: PeakPlace | None = None
    phases: dict[str, tuple[int, tuple[int, ...]]] = msgspec.field(default_factory=dict)
    """Per phase: the most allocated, and its parts."""
    largest: tuple[LargeTensor, ...] = ()
    samples: tuple[Sample, ...] = ()
    timeline: tuple[tuple[int, int, int], ...] = ()


def profile(program: Program, repetition: Repetition | None = None) -> Profile:
    """Watch a whole run."""
    return _Watcher(program, repetition).run()


def parts_of(totals: tuple[int, ...]) -> tuple[Part, ...]:
    """Totals by category as parts; what is nothing is left out."""
    return tuple(Part(name, size) for name, size in zip(CATEGORIES, totals, strict=True) if size)


def phase_peaks(found: Profile) -> tuple[PhasePeak, ...]:
    """The peaks by phase, in the order a step goes through them."""
    return tuple(
        PhasePeak(name, found.phases[name][0], parts_of(found.phases[name][1]))
        for name in (*PHASES, *sorted(set(found.phases) - set(PHASES)))
        if name in found.phases
    )


class _Watcher:
    """Follows every event; remembers where the peak was, and who was alive there."""

    def __init__(self, program: Program, repetition: Repetition | None) -> None:
        self.program = program
        self.trace: Trace = program.trace
        self.repetition = repetition
        self.totals = [0] * len(CATEGORIES)
        self.category = [_place_of(name) for name in program.slots.categories]
        self.at_peak: dict[int, int] = {}
        """Slots alive at the peak so far, by address."""
        self.since_peak: list[tuple[int, int]] = []
        """What happened after the last peak, so that the peak's survivors need no copy at every new peak."""
        self.found = Profile()

    def run(self) -> Profile:
        found = self.found
        drawn = self._drawn_stretches()
        wanted = sum(len(stretch.events) for stretch in drawn.values())
        samples: list[Sample] = []
        phase = "build"
        stretch: Stretch | None = None
        for moment in watch(self.program, repetition=self.repetition):
            if moment.call >= 0:
                phase = self.trace.phases[self.trace.calls[moment.call].phase]
            elif moment.stretch is not stretch:
                # What is dropped before a step's first call belongs to that call's phase, not to the last step's end.
                phase = self._first_phase(moment.stretch)
            stretch = moment.stretch
            self._count(moment)
            if moment.event >= 0:
                self._compare(moment, phase)
            if id(moment.stretch) in drawn and len(samples) < wanted:
                samples.append(self._sample(moment, phase))
            found.peak_reserved = max(found.peak_reserved, moment.reserved)
        found.largest = self._largest()
        found.samples = tuple(thin(samples, SAMPLES))
        found.timeline = tuple(
            (place, sample.allocated, sample.reserved) for place, sample in enumerate(found.samples)
        )
        return found

    def _first_phase(self, stretch: Stretch) -> str:
        call = next((call for call in stretch.calls if call >= 0), None)
        if call is None or not stretch.is_step:
            return "other" if stretch.is_step else "build"
        return self.trace.phases[self.trace.calls[call].phase]

    def _drawn_stretches(self) -> dict[int, Stretch]:
        """The stretches of the last traced step (of the build, where no step was traced); repetitions come later."""
        busy = [stretch for stretch in self.program.stretches if stretch.events]
        steps = [stretch for stretch in busy if stretch.is_step] or busy
        return {id(stretch): stretch for stretch in steps if stretch.name == steps[-1].name}

    def _count(self, moment: Moment) -> None:
        if moment.event >= 0:
            slot, size = moment.event, moment.size
        else:
            slot, size = ~moment.event, -moment.size
        self.totals[self.category[slot]] += size
        self.since_peak.append((moment.address, moment.event))

    def _compare(self, moment: Moment, phase: str) -> None:
        highest = self.found.phases.get(phase)
        if highest is None or moment.allocated > highest[0]:
            self.found.phases[phase] = (moment.allocated, tuple(self.totals))
        if moment.allocated > self.found.peak_allocated:
            self.found.peak_allocated = moment.allocated
            self.found.parts = tuple(self.totals)
            self.found.place = self._place(moment, phase)
            self._remember_peak()

    def _remember_peak(self) -> None:
        for address, event in self.since_peak:
            if event >= 0:
                self.at_peak[address] = event
            else:
                self.at_peak.pop(address, None)
        self.since_peak.clear()

    def _place(self, moment: Moment, phase: str) -> PeakPlace:
        if moment.call < 0:
            return PeakPlace(phase)
        call = self.trace.calls[moment.call]
        return PeakPlace(phase, self.trace.modules[call.module], self.trace.operations[call.operation].name)

    def _sample(self, moment: Moment, phase: str) -> Sample:
        module = self.trace.modules[self.trace.calls[moment.call].module] if moment.call >= 0 else ""
        return Sample(moment.call, phase, module, moment.reserved, tuple(self.totals))

    def _largest(self) -> tuple[LargeTensor, ...]:
        sizes = self.program.slots.sizes
        slots = sorted(self.at_peak.values(), key=lambda slot: (-sizes[slot], slot))[:LARGEST]
        return tuple(self._large(slot) for slot in slots)

    def _large(self, slot: int) -> LargeTensor:
        slots, trace = self.program.slots, self.trace
        category = CATEGORIES[self.category[slot]]
        call = slots.calls[slot]
        if call < 0:
            return LargeTensor(slots.sizes[slot], category, "", "")
        traced = trace.calls[call]
        operation = trace.operations[traced.operation]
        shape: tuple[int, ...] = ()
        dtype = ""
        if slot < len(trace.blocks):
            exact = trace.blocks[slot].size
            match = next((made for made in operation.outputs if bytes_of(made) == exact), None)
            shape, dtype = (match.shape, match.dtype) if match is not None else ((), "")
        size = slots.sizes[slot]
        return LargeTensor(size, category, trace.modules[traced.module], operation.name, shape, dtype)


def thin(samples: list[Sample], most: int) -> Iterator[Sample]:
    """At most so many samples; of every run of neighbours the highest stays."""
    if len(samples) <= most:
        yield from samples
        return
    length = len(samples)
    for place in range(most):
        run = samples[place * length // most : (place + 1) * length // most]
        yield max(run, key=lambda sample: sample.allocated)


def _place_of(category: str) -> int:
    return CATEGORIES.index(SHOWN.get(category, "other"))
