"""What the peak consists of, line by line, each with its formula in words and numbers."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from tonnage.memory.estimate import Part, PeakPlace, PhasePeak
from tonnage.memory.ledger.tape import PHASES, Tape
from tonnage.memory.program import Program
from tonnage.memory.recipe import Recipe
from tonnage.memory.shapes.shape import ModelShape

Line = tuple[str, str]
"""What a block is counted under: its part and its place."""

ORDER = ("parameters", "gradients", "optimizer", "batch", "activations", "loss", "temporaries", "workspaces")


@dataclass(frozen=True, slots=True)
class Told:
    """The peak and the phases, explained."""

    peak: int
    parts: tuple[Part, ...]
    phases: tuple[PhasePeak, ...]
    place: PeakPlace
    notes: tuple[str, ...]


def explain(program: Program, tape: Tape, shape: ModelShape, recipe: Recipe) -> Told:
    """Walk the last step once; remember the highest moment of every phase."""
    names = {
        "parameter": "parameters", "buffer": "parameters", "gradient": "gradients", "optimizer": "optimizer",
        "input": "batch", "activation": "activations", "temporary": "temporaries", "workspace": "workspaces",
    }  # fmt: skip
    slots = program.slots
    kinds = [names.get(category, "temporaries") for category in slots.categories]
    totals: dict[str, int] = defaultdict(int)
    best: dict[str, tuple[int, dict[str, int], int]] = {}
    allocated, phase = 0, "build"
    trace = program.trace
    for stretch in program.stretches:
        last = stretch.name == program.stretches[-1].name or stretch.name == f"step {trace.steps - 1}"
        for event, call in zip(stretch.events, stretch.calls, strict=True):
            slot = event if event >= 0 else ~event
            size = slots.sizes[slot] if event >= 0 else -slots.sizes[slot]
            allocated += size
            totals[kinds[slot]] += size
            if call >= 0:
                phase = PHASES[trace.calls[call].phase]
            if last and event >= 0 and (phase not in best or allocated > best[phase][0]):
                best[phase] = (allocated, dict(totals), call)
    highest = max(best, key=lambda name: best[name][0])
    peak, at_peak, call = best[highest]
    place = PeakPlace(highest)
    if call >= 0:
        traced = trace.calls[call]
        place = PeakPlace(highest, trace.modules[traced.module], trace.operations[traced.operation].name)
    phases = tuple(
        PhasePeak(name, best[name][0], _parts(best[name][1], shape, recipe)) for name in PHASES if name in best
    )
    return Told(peak, _parts(at_peak, shape, recipe), phases, place, ())


def _parts(totals: dict[str, int], shape: ModelShape, recipe: Recipe) -> tuple[Part, ...]:
    return tuple(Part(name, totals[name], "") for name in ORDER if totals.get(name))
