"""What the device measured, read back: operations timed alone, small steps, whole steps and their profiles."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from accuracy.timing.joining import Key, profiled_key, traced_key
from tonnage.cluster.gpu_facts import facts_of
from tonnage.cluster.gpus import find_gpu
from tonnage.memory.trace import Operation, Trace
from tonnage.timing.reading import work_of
from tonnage.timing.roofline import first_guess
from tonnage.timing.step import steady_calls
from tonnage.timing.work import Arithmetic


@dataclass(frozen=True)
class Timed:
    """One operation and its seconds on the device, gaps between kernels included where it ran alone."""

    operation: Operation
    seconds: float
    arithmetic: Arithmetic
    alone: bool
    times: int = 1


@dataclass(frozen=True)
class MeasuredStep:
    """One step of the measured set: whole seconds, and until the host had asked for everything."""

    name: str
    half: str
    seconds: float
    asked: float
    streamed: float


def timed_alone(folder: Path) -> Iterator[Timed]:
    """Operations of the micro-benchmarks."""
    for line in _lines(folder / "operations.jsonl"):
        if "us" not in line:
            continue
        operation = msgspec.convert(
            {key: line[key] for key in ("name", "inputs", "outputs", "scalars")}, Operation
        )
        yield Timed(operation, line["us"] * 1e-6, Arithmetic(matrix_tf32=line["tf32"]), alone=True)


def small_steps(folder: Path) -> list[dict[str, Any]]:
    """Steps that only the host bounds."""
    return [line for line in _lines(folder / "host.jsonl") if "seconds" in line]


def measured_steps(folder: Path) -> list[MeasuredStep]:
    """Whole steps; where one was measured twice, the last counts."""
    found = {
        line["name"]: _measured_step(line) for line in _lines(folder / "steps.jsonl") if "seconds" in line
    }
    return list(found.values())


def _measured_step(line: dict[str, Any]) -> MeasuredStep:
    """The first run had other processes beside it: of its steps the quickest is nearest the truth."""
    seconds, asked = line["seconds"], line["asked_seconds"]
    least = min(line["all"] + line["first"][1:])
    if asked > 0.9 * seconds:
        asked, seconds = asked * least / seconds, least
    return MeasuredStep(line["name"], line["half"], seconds, asked, line["streamed_seconds"])


def trace_of(folder: Path, name: str) -> Trace | None:
    """The trace of a step, where there is one."""
    file = folder / f"{name}.trace.json"
    return msgspec.json.decode(file.read_bytes(), type=Trace) if file.exists() else None


def timed_in_step(folder: Path, trace: Trace, name: str) -> tuple[list[Timed], float, float]:
    """Operations of a profiled step joined to those of its trace; and the GPU's seconds, joined and in all.

    Operations that one key stands for share its time by the first guess at theirs.
    """
    file = folder / f"{name}.profile.json"
    if not file.exists():
        return [], 0.0, 0.0
    profile = json.loads(file.read_text())
    counts: Counter[int] = Counter(call.operation for call in steady_calls(trace))
    known: dict[Key, list[int]] = defaultdict(list)
    for number in counts:
        known[traced_key(trace.operations[number])].append(number)
    spent: dict[Key, float] = defaultdict(float)
    for row in profile["rows"]:
        key = profiled_key(row)
        if key in known:
            spent[key] += row["us"] * 1e-6
    arithmetic = Arithmetic.of(trace.settings)
    timed = []
    for key, seconds in spent.items():
        guesses = {number: _guess(trace.operations[number], arithmetic) for number in known[key]}
        guessed = sum(counts[number] * guess for number, guess in guesses.items())
        if guessed:
            timed += [
                Timed(
                    trace.operations[number],
                    seconds * guess / guessed,
                    arithmetic,
                    alone=False,
                    times=counts[number],
                )
                for number, guess in guesses.items()
            ]
    return timed, sum(spent.values()), profile["gpu_us"] * 1e-6


def device_work(folder: Path, name: str) -> tuple[float, int]:
    """Seconds the GPU worked in a profiled step, and in how many kernels."""
    file = folder / f"{name}.profile.json"
    if not file.exists():
        return 0.0, 0
    profile = json.loads(file.read_text())
    return profile["gpu_us"] * 1e-6, profile["kernels"]


def _guess(operation: Operation, arithmetic: Arithmetic) -> float:
    gpu = find_gpu("h200")
    assert gpu is not None
    return first_guess(work_of(operation, arithmetic), facts_of(gpu))


def _lines(file: Path) -> Iterator[dict[str, Any]]:
    if not file.exists():
        return
    for line in file.read_text().splitlines():
        if line.strip():
            yield json.loads(line)
