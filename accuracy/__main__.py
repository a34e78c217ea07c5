"""The accuracy table: exact mode, shape mode, PyTorch's MemTracker and popular calculators on the measured set.

    python -m accuracy --python .venv/bin/python        trace every configuration first, some seconds each
    python -m accuracy --traces FOLDER                  from traces that an earlier call with --python left there
    python -m accuracy                                  without exact mode: from shapes, and the others

Nothing here runs on a GPU: the truth is the committed table in accuracy/measurements.

The sets (--half): calibration and report are the two halves of the first set, by the hash of each name: rules were
learned on the one and are reported on the other. unseen, fresh and later were predicted before they were measured;
what came out of fresh and later was learned from afterwards. held and sealed are the thirds of those two that nothing
is ever mended for.
"""

from __future__ import annotations

import argparse
import statistics
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import msgspec

from accuracy.calculators import CALCULATORS, MODELS, memtracker
from accuracy.catalogue import HALVES
from accuracy.evaluating import Compared, compared, line, measurements, summary
from accuracy.shaping import FromShape, from_shapes, truth
from accuracy.tracing import trace_all
from tonnage.memory.trace import Trace

WORTH = (
    "What the sets are worth: constants of the time model were fitted to `calibration` only, but rules of "
    "memory and the form of the time model were found by looking at `calibration` and `report` alike. "
    "`unseen` was predicted, and the predictions committed (accuracy/predictions), before it was measured; "
    "nothing was changed after. `fresh` and `held` are steps of other kinds, predicted and committed before "
    "they were measured as well: rules of memory were mended afterwards for what `fresh` showed, and for "
    "`held` only the padding of products in compiled steps, by a sweep of such products; how wide intervals "
    "of time are, and the pace of host and compiled calls, were chosen with all of these in sight. Five rows "
    "without a time were measured side by side, their caps to 1 to 4 %.\n\n"
    "`later` and `sealed` were written last, predicted and committed before they were measured. Of `sealed` "
    "two rows taught something all the same: Mixtral with its balancing loss could not be traced at first, "
    "and experts that take the tokens routed to them need more in one run than in another, so sizes that a "
    "choice decides are guarded more. What `later` showed was mended: gradients that recomputation of the "
    "reentrant kind holds. Ranks of many (`_ranks_`) were measured alone, without collectives: their caps "
    "count, their time does not.\n\n"
    "A compiled step is predicted for an empty compile cache and for a full one, and the larger figure counts: "
    "with a full one nothing is timed while compiling, and memory comes to lie otherwise. "
    "`later_small_gpt_compiled`, a `sealed` row, taught this: it trains with 4.42 GiB the first time and needs "
    "5.2 GiB afterwards. Measured caps are those of a full cache: the first process of a search fills it."
)
"""What each set can show, said in every report."""


@dataclass(frozen=True)
class Standing:
    """How one tool did: relative errors by configuration, and how many it was asked."""

    tool: str
    asked: int
    errors: list[float]

    def row(self) -> str:
        if not self.errors:
            return f"| {self.tool} | 0 of {self.asked} | - | - | - | - |"
        sizes = sorted(abs(error) for error in self.errors)
        p90 = sizes[min(len(sizes) - 1, int(0.9 * len(sizes)))]
        under = sum(error < -0.0005 for error in self.errors)
        return (
            f"| {self.tool} | {len(self.errors)} of {self.asked} | {statistics.median(sizes):.2%} | {p90:.2%} "
            f"| {min(self.errors):+.1%} / {max(self.errors):+.1%} | {under} |"
        )


def standings(rows: list[dict[str, Any]], exact: list[Compared], shaped: list[FromShape]) -> list[Standing]:
    """Every tool on every configuration it can be asked about, against the smallest cap that trains."""
    with_cap = {row["name"]: row for row in rows if "cap_trained" in row and "outside" in row}
    found = [
        Standing(
            "**tonnage, exact**",
            sum("cap_trained" in row for row in rows),
            [each.cap_error for each in exact if each.cap_error is not None],
        )
    ]
    found.append(Standing("**tonnage, from the shape**", len(shaped), [each.error for each in shaped]))
    tracked = memtracker()
    if tracked:
        peaks = {name: peak for name, peak in tracked.items() if peak is not None and name in with_cap}
        errors = [peak / with_cap[name]["cap_trained"] - 1 for name, peak in peaks.items()]
        found.append(Standing("PyTorch MemTracker", sum(name in with_cap for name in tracked), errors))
    for tool, formula in CALCULATORS.items():
        known = {name: model for name, model in MODELS.items() if name in with_cap}
        errors = [formula(model) / truth(with_cap[name]) - 1 for name, model in known.items()]
        found.append(Standing(tool, len(known), errors))
    return found


def report(rows: list[dict[str, Any]], exact: list[Compared], traces: list[Trace]) -> str:
    """The page."""
    shaped = from_shapes(rows)
    lines = [
        f"# Accuracy, {date.today():%Y-%m-%d}",
        "",
        "Against the smallest memory cap under which each configuration really trained on an H200 "
        "(accuracy/measurements/h200.json). Exact mode and MemTracker predict that cap; the others what the device "
        "must hold. A prediction inside the measured bracket (0.12 % wide) counts as right.",
        "",
        "| tool | handled | median error | p90 | worst | too low |",
        "|---|--:|--:|--:|--:|--:|",
        *(standing.row() for standing in standings(rows, exact, shaped)),
        "",
        WORTH,
        "",
        "Traced with "
        + ", ".join(sorted({f"torch {trace.torch} on Python {trace.python}" for trace in traces}))
        + ".",
        "",
        "## Exact mode, every configuration",
        "",
        "```text",
        *(line(each) for each in exact),
        "",
    ]
    for half in HALVES:
        chosen = [each for each in exact if each.row["half"] == half]
        if chosen:
            lines += [half, summary(chosen), ""]
    lines += ["all", summary(exact), "```", "", "## From the shape, every configuration", "", "```text"]
    return "\n".join([*lines, *(each.line() for each in shaped), "```", ""])


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m accuracy", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--python",
        metavar="INTERPRETER",
        help="Python with torch 2.11, torchvision and transformers, to trace with",
    )
    parser.add_argument(
        "--traces", type=Path, metavar="FOLDER", help="where traces are kept and read (a new folder)"
    )
    parser.add_argument("--half", choices=HALVES, metavar="SET", help=f"one set alone: {', '.join(HALVES)}")
    parser.add_argument("--to", type=Path, metavar="FILE.md", help="write the table there as well")
    options = parser.parse_args()
    rows = [row for row in measurements() if not options.half or row["half"] == options.half]
    traces = options.traces or Path(mkdtemp(prefix="tonnage-traces-"))
    if options.python:
        trace_all(options.python, traces, [row["name"] for row in rows])
    files = {row["name"]: traces / f"{row['name']}.json" for row in rows}
    read = {
        name: msgspec.json.decode(file.read_bytes(), type=Trace)
        for name, file in files.items()
        if file.exists()
    }
    exact = [compared(row, read[row["name"]]) for row in rows if row["name"] in read]
    text = report(rows, exact, list(read.values()))
    print(text)
    if options.to:
        options.to.write_text(text)


if __name__ == "__main__":
    main()
