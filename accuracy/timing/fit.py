"""Fits the committed calibration to what the device measured, and reports it on the other half.

    python -m accuracy.timing.fit --results FOLDER [FOLDER ...] --traces FOLDER [--write]

Kernels and the host's pace are fitted to the calibration half of the measured set, the micro-benchmarks and the small
steps. The width of the interval comes from the calibration half too, a quarter at a time predicted by the other three.
No constant is fitted to the report half. It was looked at while the model was written, though: see the README.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from accuracy.catalogue import Configuration
from accuracy.timing import keeping, results, writing
from accuracy.timing.fit_host import fitted_pace, row_of_trace, rows_of_small_steps
from accuracy.timing.fit_kernels import fitted_points
from tonnage.cluster.gpus import find_gpu
from tonnage.memory.trace import Trace
from tonnage.timing.calibration import Calibration, calibration
from tonnage.timing.corrections import Corrections
from tonnage.timing.host import HostPace
from tonnage.timing.moving import waits
from tonnage.timing.step import StepTime, analysed_step, steady_calls

ALONE_GAP = 1.0e-6
"""Between two launches of an operation timed alone; a real step's gaps are fitted."""
LAUNCH_BOUND = 0.965
"""A step whose host is busy for this share of it is bound by the host."""


@dataclass
class Known:
    """One step of the measured set with everything known of it."""

    name: str
    half: str
    seconds: float
    launch: float
    trace: Trace
    timed: list[results.Timed]
    device: float = 0.0
    kernels: int = 0


def main() -> int:
    options = _options()
    steps = _known(options.results, options.traces)
    alone = [each for folder in options.results for each in results.timed_alone(folder)]
    small = [step for folder in options.results for step in results.small_steps(folder)]
    learning = [step for step in steps if step.half == "calibration"]
    measured = _fitted(learning, alone, small)
    lines = _left_out(learning, alone, small)
    measured = replace(measured, spread=_spread(lines))
    lines += [_line(step, measured) for step in steps if step.half == "report"]
    for half in ("calibration", "report"):
        _tell(half, [line for line in lines if line["half"] == half])
    if options.write:
        writing.write_table(measured, fitted_points(_timed(learning, alone), ALONE_GAP))
        keeping.write(
            [keeping.keep(step.name, step.half, step.seconds, step.launch, step.trace) for step in steps]
        )
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, nargs="+", required=True)
    parser.add_argument("--traces", type=Path, required=True)
    parser.add_argument("--write", action="store_true")
    return parser.parse_args()


def _known(folders: list[Path], traces: Path) -> list[Known]:
    """Steps that were both measured and traced; measurements in a process of their own come first."""
    measured: dict[str, tuple[float, float]] = {}
    for folder in folders:
        for step in results.measured_steps(folder):
            measured.setdefault(step.name, (step.seconds, step.asked))
        own = folder / "seconds.json"
        if own.exists():
            for name, figures in json.loads(own.read_text()).items():
                measured[name] = (figures["median"], figures["launch"])
    found = []
    for name, (seconds, launch) in sorted(measured.items()):
        trace = results.trace_of(traces, name)
        if trace is None:
            continue
        timed = [each for folder in folders for each in results.timed_in_step(folder, trace, name)[0]]
        device, kernels = max((results.device_work(folder, name) for folder in folders), default=(0.0, 0))
        found.append(
            Known(name, Configuration("", name).half, seconds, launch, trace, timed, device, kernels)
        )
    return found


def _timed(steps: list[Known], alone: list[results.Timed]) -> list[results.Timed]:
    return [*alone, *(each for step in steps for each in step.timed)]


def _fitted(steps: list[Known], alone: list[results.Timed], small: list[dict[str, Any]]) -> Calibration:
    rows = rows_of_small_steps(small)
    rows += [
        row_of_trace(step.trace, step.launch, step.name, at_most=step.launch < LAUNCH_BOUND * step.seconds)
        for step in steps
        if step.launch and not _halts(step.trace)
    ]
    return replace(
        calibration(),
        corrections=Corrections(fitted_points(_timed(steps, alone), ALONE_GAP)),
        host=HostPace(**fitted_pace(rows)),
        gap=_gap(steps),
    )


def _halts(trace: Trace) -> bool:
    """Whether the host waits for the device in the middle: then its seconds are not its own."""
    return any(waits(trace.operations[number]) for number in {call.operation for call in steady_calls(trace)})


def _gap(steps: list[Known]) -> float:
    """Seconds between kernels in steps that the device bounds: what is left of the step beside its kernels."""
    left = [
        (step.seconds - step.device) / step.kernels
        for step in steps
        if step.kernels and 0 < step.launch < 0.9 * step.seconds
    ]
    return round(statistics.median(left), 8) if left else ALONE_GAP


def _left_out(
    steps: list[Known], alone: list[results.Timed], small: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """The calibration half in quarters, each predicted by the others."""
    lines = []
    for quarter in range(4):
        others = [step for number, step in enumerate(steps) if number % 4 != quarter]
        measured = _fitted(others, alone, small)
        lines += [_line(step, measured) for step in steps[quarter::4]]
    return lines


def _line(step: Known, measured: Calibration) -> dict[str, Any]:
    gpu = find_gpu("h200")
    assert gpu is not None
    told: StepTime = analysed_step(step.trace, gpu, measured=measured)
    busy = sum(each.seconds * each.times for each in step.timed)
    return {
        "name": step.name,
        "half": step.half,
        "measured": step.seconds,
        "p10": told.seconds.p10,
        "p50": told.seconds.p50,
        "p90": told.seconds.p90,
        "launch": step.launch,
        "host": told.host,
        "device": told.device_busy,
        "profiled": busy,
    }


LEAST_SPREAD = 0.15
"""Steps of other kinds (`fresh` of the measured set) err more than those the model was fitted to, and one and the same
step on two machines of one type differed by up to 23 %."""


def _spread(lines: list[dict[str, Any]]) -> float:
    """Half-width (logarithm) that holds 85 % of the calibration half: a little more than asked, few as they are.

    What a step's interval is wider for its convolutions or its host is taken off first.
    """
    before = calibration().spread
    errors = sorted(
        abs(math.log(line["p50"] / line["measured"])) - (math.log(line["p90"] / line["p50"]) - before)
        for line in lines
    )
    return max(LEAST_SPREAD, errors[min(len(errors) - 1, math.ceil(0.85 * len(errors)))]) if errors else 0.3


def _tell(half: str, lines: list[dict[str, Any]]) -> None:
    if not lines:
        return
    print(f"\n{half}: {len(lines)} steps")
    for line in sorted(lines, key=lambda each: each["p50"] / each["measured"]):
        error = line["p50"] / line["measured"] - 1
        inside = "" if line["p10"] <= line["measured"] <= line["p90"] else "outside"
        print(
            f"  {line['name']:36s} {line['measured'] * 1e3:8.1f} ms  predicted {line['p50'] * 1e3:8.1f}  {error:+7.1%}"
            f"  host {line['host'] * 1e3:6.1f} / {line['launch'] * 1e3:6.1f}"
            f"  device {line['device'] * 1e3:6.1f} / {line['profiled'] * 1e3:6.1f} {inside}"
        )
    errors = sorted(abs(line["p50"] / line["measured"] - 1) for line in lines)
    covered = sum(line["p10"] <= line["measured"] <= line["p90"] for line in lines) / len(lines)
    print(
        f"  median {statistics.median(errors):.1%}, p90 {errors[math.ceil(0.9 * len(errors)) - 1]:.1%},"
        f" worst {errors[-1]:.1%}, interval covers {covered:.0%}"
    )


if __name__ == "__main__":
    raise SystemExit(main())
