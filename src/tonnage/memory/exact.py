"""The exact estimate: a traced step, replayed through the allocator of the GPU it will run on.

trace -> program (workspaces and temporaries put in) -> a run without a limit (peaks, parts, places)
      -> the smallest limit that trains, compiling or compiled -> what lies outside the allocator -> the guard band
"""

from __future__ import annotations

from tonnage.cluster.gpus import GpuType
from tonnage.memory.cap import Cap, smallest_cap
from tonnage.memory.compiled import already_compiled
from tonnage.memory.device import device_of
from tonnage.memory.estimate import Estimate, Interval
from tonnage.memory.guard import guard_for
from tonnage.memory.outside import outside_parts
from tonnage.memory.peak import parts_of, phase_peaks, profile
from tonnage.memory.program import Program, program_of
from tonnage.memory.repeating import Repetition, repetition_of
from tonnage.memory.trace import Trace
from tonnage.units import format_bytes

FORMULAS = {
    "parameters": "registered with a module",
    "buffers": "registered with a module",
    "gradients": "held as a parameter's .grad",
    "optimizer": "state the optimizer keeps",
    "inputs": "made outside the model before the forward pass",
    "activations": "made in the forward pass and kept for the backward pass",
    "temporaries": "alive at this moment only, inside operations too",
    "workspaces": "kept by cuBLAS, one per thread and stream",
    "other": "none of these",
}


def exact_estimate(trace: Trace, gpu: GpuType, *, step_seconds: Interval | None = None) -> Estimate:
    """What the traced step needs of one such GPU; raise SettingsError where its allocator settings are refused."""
    lives = [_Replayed(each, gpu) for each in (trace, already_compiled(trace)) if each is not None]
    worst = max(lives, key=lambda each: each.cap.bytes)
    found, cap = worst.found, worst.cap
    outside = outside_parts(trace, gpu)
    outside_bytes = sum(part.bytes for part in outside)
    return Estimate(
        mode="exact",
        gpu=gpu.name,
        peak_allocated=found.peak_allocated,
        peak_reserved=found.peak_reserved,
        smallest_cap=cap.bytes,
        outside_allocator=outside_bytes,
        guard=guard_for(trace, cap.bytes + outside_bytes),
        parts=tuple(type(part)(part.name, part.bytes, FORMULAS[part.name]) for part in parts_of(found.parts)),
        phases=phase_peaks(found),
        largest=found.largest,
        outside=outside,
        step_seconds=step_seconds,
        notes=_notes(worst.program, worst.repetition, cap),
        retries=cap.retries,
        peak=found.place,
        samples=found.samples,
        timeline=found.timeline,
    )


class _Replayed:
    """A trace played through the allocator: what a run without a limit holds, and the smallest limit it trains in."""

    def __init__(self, trace: Trace, gpu: GpuType) -> None:
        self.program = program_of(trace, device_of(gpu, trace.settings))
        self.repetition = repetition_of(self.program)
        self.found = profile(self.program, self.repetition)
        self.cap = _cap(self.program, self.found.peak_allocated, self.found.peak_reserved, self.repetition)


def _cap(program: Program, peak_allocated: int, peak_reserved: int, repetition: Repetition | None) -> Cap:
    """The smallest cap; all that is reserved where CUDA graphs are recorded, because their pools give nothing back."""
    if any(note.code == "compile-cuda-graphs" for note in program.trace.notes):
        return Cap(peak_reserved, retries=0, tried=0)
    return smallest_cap(program, peak_allocated, peak_reserved, repetition)


def _notes(program: Program, repetition: Repetition | None, cap: Cap) -> tuple[str, ...]:
    """What a reader must know to trust or doubt the figures."""
    notes = [note.text for note in program.trace.notes]
    if cap.retries:
        notes.append(
            f"at the smallest cap the allocator gives memory back {_often(cap.retries)} in five steps: slower"
        )
    if repetition is not None and repetition.grows_by:
        notes.append(
            f"every step leaves {format_bytes(repetition.grows_by)} behind that nothing frees: the run grows"
        )
    if program.settings.backend != "native":
        notes.append(
            f"backend:{program.settings.backend} is not modelled; the figures are those of the native allocator"
        )
    return tuple(notes)


def _often(times: int) -> str:
    return "once" if times == 1 else f"{times} times"
