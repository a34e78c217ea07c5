"""Predicts every kept step with the committed calibration: `python -m accuracy.timing.report`.

Prints measured beside predicted seconds, and for each half the median and 90th percentile of the error and how many
steps the 80 % interval covers. The report half had no part in the calibration.
"""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass

from accuracy.timing.keeping import Excerpt, read
from tonnage.cluster.gpus import find_gpu
from tonnage.memory.estimate import Interval
from tonnage.timing.step import step_time


@dataclass(frozen=True)
class Line:
    """One step, measured and predicted."""

    name: str
    half: str
    measured: float
    predicted: Interval

    @property
    def error(self) -> float:
        return self.predicted.p50 / self.measured - 1.0

    @property
    def covered(self) -> bool:
        return self.predicted.p10 <= self.measured <= self.predicted.p90


@dataclass(frozen=True)
class Summary:
    """How good the predictions of some steps are."""

    steps: int
    median: float
    p90: float
    worst: float
    covered: float


def main() -> int:
    lines = [predicted(excerpt) for excerpt in read()]
    for half in ("calibration", "report"):
        mine = sorted((line for line in lines if line.half == half), key=lambda line: line.error)
        print(f"\n{half}")
        for line in mine:
            outside = "" if line.covered else "  outside"
            print(
                f"  {line.name:36s} measured {line.measured * 1e3:7.1f} ms"
                f"  predicted {line.predicted.p50 * 1e3:7.1f}  {line.error:+7.1%}{outside}"
            )
        print(f"  {told(summary(mine))}")
    return 0


def predicted(excerpt: Excerpt) -> Line:
    """One step with the committed calibration."""
    gpu = find_gpu("h200")
    assert gpu is not None
    step = excerpt.step
    return Line(step.name, step.half, step.seconds, step_time(excerpt.trace, gpu))


def summary(lines: list[Line]) -> Summary:
    """Median, 90th percentile and worst of the absolute errors, and the share of intervals that hold the truth."""
    errors = sorted(abs(line.error) for line in lines)
    return Summary(
        steps=len(lines),
        median=statistics.median(errors),
        p90=errors[math.ceil(0.9 * len(errors)) - 1],
        worst=errors[-1],
        covered=sum(line.covered for line in lines) / len(lines),
    )


def told(found: Summary) -> str:
    """The summary as one line."""
    return (
        f"{found.steps} steps: median {found.median:.1%}, p90 {found.p90:.1%}, worst {found.worst:.1%},"
        f" 80 % interval covers {found.covered:.0%}"
    )


if __name__ == "__main__":
    raise SystemExit(main())
