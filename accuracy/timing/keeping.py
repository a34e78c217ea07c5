"""The measured steps as one committed file: seconds on the device, and the calls of the steady step.

Whole traces are too large to commit and hold much that time does not need. What is kept is enough to predict every
step again without torch: its distinct operations, the order of its calls with their phases, and its settings.
"""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from pathlib import Path

import msgspec

from tonnage.memory.trace import FORMAT, Call, Operation, Trace
from tonnage.timing.step import steady_calls

FILE = Path(__file__).with_name("measured_steps.json.gz")
VERSIONS = "NVIDIA H200, driver 580.159, torch 2.11.0+cu130, cuDNN 9.19, transformers 5.17, torchvision 0.26"


class KeptStep(msgspec.Struct, frozen=True):
    """One step: what was measured, and what it consists of."""

    name: str
    half: str
    seconds: float
    launch: float
    """Seconds until the host had asked for everything; 0 where it was not measured."""
    settings: dict[str, str]
    phases: tuple[str, ...]
    operations: tuple[Operation, ...]
    calls: tuple[tuple[int, int], ...]
    """Operation and phase of each call."""


class Kept(msgspec.Struct, frozen=True):
    """All steps and the machine they were measured on."""

    versions: str
    steps: tuple[KeptStep, ...]


@dataclass(frozen=True)
class Excerpt:
    """A kept step as the timing model reads it."""

    step: KeptStep
    trace: Trace


def keep(name: str, half: str, seconds: float, launch: float, trace: Trace) -> KeptStep:
    """What is worth keeping of a traced step."""
    calls = list(steady_calls(trace))
    numbers = {old: new for new, old in enumerate(dict.fromkeys(call.operation for call in calls))}
    return KeptStep(
        name=name,
        half=half,
        seconds=round(seconds, 6),
        launch=round(launch, 6),
        settings={
            key: trace.settings[key]
            for key in ("matmul.allow_tf32", "cudnn.allow_tf32")
            if key in trace.settings
        },
        phases=trace.phases,
        operations=tuple(_short(trace.operations[old]) for old in numbers),
        calls=tuple((numbers[call.operation], call.phase) for call in calls),
    )


def _short(operation: Operation) -> Operation:
    """Without the long lists of numbers that no cost depends on."""
    plain = {
        name: value
        for name, value in operation.scalars.items()
        if not (isinstance(value, list) and len(value) > 8)
    }
    return Operation(operation.name, operation.inputs, operation.outputs, plain)


def write(steps: list[KeptStep]) -> None:
    """The committed file; the same steps make the same bytes."""
    data = msgspec.json.encode(Kept(VERSIONS, tuple(sorted(steps, key=lambda each: each.name))))
    FILE.write_bytes(gzip.compress(data, compresslevel=9, mtime=0))


def read() -> list[Excerpt]:
    """Every kept step, ready to be predicted."""
    kept = msgspec.json.decode(gzip.decompress(FILE.read_bytes()), type=Kept)
    return [Excerpt(step, as_trace(step)) for step in kept.steps]


def as_trace(step: KeptStep) -> Trace:
    """A trace of nothing but the steady step."""
    return Trace(
        format=FORMAT,
        torch="2.11.0+cu130",
        cuda="13.0",
        python="3.12",
        gpu="h200",
        steps=1,
        phases=step.phases,
        categories=(),
        modules=("",),
        operations=step.operations,
        calls=tuple(Call(operation, phase, 0) for operation, phase in step.calls),
        blocks=(),
        marks=("step 0",),
        kinds="m" + "c" * len(step.calls),
        arguments=(0, *range(len(step.calls))),
        settings=step.settings,
    )
