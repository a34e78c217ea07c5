"""Predictions of exact mode against the measured table.

    python -m accuracy.evaluating --traces FOLDER [--half report] [NAME...]

`--traces` is a folder written by accuracy.tracing; without it every configuration is traced now.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from accuracy.catalogue import HALVES
from tonnage.cluster.gpus import find_gpu
from tonnage.memory.estimate import Estimate
from tonnage.memory.exact import exact_estimate
from tonnage.memory.trace import Trace
from tonnage.timing.step import step_time

MEASUREMENTS = Path(__file__).parent / "measurements" / "h200.json"
MIB = 1 << 20


@dataclass(frozen=True)
class Compared:
    """One configuration: what was predicted and what is so."""

    row: dict[str, Any]
    estimate: Estimate
    seconds: float
    """How long the prediction took, tracing not counted."""

    @property
    def truth(self) -> int | None:
        """The smallest cap that trained."""
        return self.row.get("cap_trained")

    @property
    def cap_error(self) -> float | None:
        """Relative error of the smallest cap; 0 inside the measured bracket."""
        if self.truth is None:
            return None
        predicted = self.estimate.smallest_cap
        if self.row["cap_failed"] < predicted <= self.truth:
            return 0.0
        return predicted / self.truth - 1

    @property
    def required_margin(self) -> float | None:
        """How far the required total lies above the truth, relative to it."""
        if self.truth is None or "outside" not in self.row:
            return None
        return float(self.estimate.required / (self.truth + self.row["outside"]) - 1)

    @property
    def time_error(self) -> float | None:
        if self.estimate.step_seconds is None or "step_seconds" not in self.row:
            return None
        return float(self.estimate.step_seconds.p50 / self.row["step_seconds"] - 1)


def measurements(path: Path = MEASUREMENTS) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(path.read_text())["rows"]
    return rows


def compared(row: dict[str, Any], trace: Trace) -> Compared:
    """Predict from the trace and lay it beside the row."""
    gpu = find_gpu("h200")
    assert gpu is not None
    started = time.monotonic()
    estimate = exact_estimate(trace, gpu, step_seconds=step_time(trace, gpu))
    return Compared(row, estimate, time.monotonic() - started)


def line(each: Compared) -> str:
    row, estimate = each.row, each.estimate
    cap, margin, pace = each.cap_error, each.required_margin, each.time_error
    return (
        f"{row['name']:37s} {row['half'][:3]}"
        f" allocated {_off(estimate.peak_allocated, row.get('peak_allocated'))}"
        f" reserved {_off(estimate.peak_reserved, row.get('peak_reserved'))}"
        f" cap {'       -' if cap is None else f'{cap:+8.3%}'}"
        f" required {'     -' if margin is None else f'{margin:+7.2%}'}"
        f" time {'     -' if pace is None else f'{pace:+7.1%}'} {each.seconds:.1f} s"
    )


def _off(predicted: int, measured: int | None) -> str:
    return "       -" if measured is None else f"{predicted / measured - 1:+8.3%}"


def summary(every: list[Compared]) -> str:
    """Median, p90 and worst of each error."""
    told = []
    peaks = [e for e in every if "peak_allocated" in e.row]
    for name, errors in (
        ("allocated", [e.estimate.peak_allocated / e.row["peak_allocated"] - 1 for e in peaks]),
        ("reserved", [e.estimate.peak_reserved / e.row["peak_reserved"] - 1 for e in peaks]),
        ("cap", [e.cap_error for e in every if e.cap_error is not None]),
        ("time", [e.time_error for e in every if e.time_error is not None]),
    ):
        if not errors:
            continue
        sizes = sorted(abs(error) for error in errors)
        p90 = sizes[min(len(sizes) - 1, int(0.9 * len(sizes)))]
        told.append(
            f"{name:10s} n {len(errors):3d}  median {statistics.median(sizes):7.3%}  p90 {p90:7.3%}"
            f"  worst {min(errors):+8.3%} {max(errors):+8.3%}"
        )
    timed = [e for e in every if e.time_error is not None and e.estimate.step_seconds is not None]
    if timed:
        inside = sum(
            e.estimate.step_seconds.p10 <= e.row["step_seconds"] <= e.estimate.step_seconds.p90
            for e in timed
            if e.estimate.step_seconds
        )
        told.append(f"time's 80 % interval covers {inside} of {len(timed)}")
    margins = [e.required_margin for e in every if e.required_margin is not None]
    if margins:
        told.append(
            f"required   n {len(margins):3d}  least {min(margins):+.3%}"
            f"  median {statistics.median(margins):+.3%}  most {max(margins):+.3%}"
        )
    return "\n".join(told)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--traces", type=Path, required=True)
    parser.add_argument("--half", choices=HALVES)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    every: list[Compared] = []
    for row in measurements():
        file = options.traces / f"{row['name']}.json"
        wanted = not options.names or row["name"] in options.names
        if not wanted or not file.exists() or (options.half and row["half"] != options.half):
            continue
        trace = msgspec.json.decode(file.read_bytes(), type=Trace)
        every.append(compared(row, trace))
        print(line(every[-1]), flush=True)
    print(summary(every))


if __name__ == "__main__":
    main()
