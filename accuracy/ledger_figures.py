"""The figures that the ledger is held against, traced again by exact mode.

python -m accuracy.ledger_figures --python INTERPRETER [--to FILE] [NAME...]

Each row of `tests/memory/ledger/traced_figures.json` describes a small model and a recipe, and holds what a trace of
one steady step showed. The command traces the rows (all where none is named), prints what came out beside what is
committed, and with `--to` keeps all rows there. A new architecture is a new row: its `config` and knobs, then this.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import Any

from accuracy.catalogue import STEPS
from tonnage.cluster.gpus import GpuType, find_gpu
from tonnage.errors import TonnageError
from tonnage.memory.trace import Trace
from tonnage.tracing import TraceRequest, trace_step

FIGURES = Path(__file__).parents[1] / "tests" / "memory" / "ledger" / "traced_figures.json"
GRAIN = 512
SMALLEST = 4096
"""Bytes of the smallest block that is counted: what is smaller is bookkeeping."""


def main() -> None:
    options = _options()
    rows: dict[str, dict[str, Any]] = json.loads(FIGURES.read_text())
    gpu = find_gpu("h200")
    assert gpu is not None
    for name in options.names or list(rows):
        try:
            found = figures_of(_traced(rows[name], options.python, gpu), rows[name]["precision"])
        except TonnageError as failure:
            print(f"{name:60s} {failure}", flush=True)
            continue
        told = "  ".join(f"{key} {rows[name].get(key)} -> {value}" for key, value in found.items())
        print(f"{name:60s} {told}", flush=True)
        if options.to is not None:
            rows[name] |= found
            options.to.write_text(json.dumps(rows, indent=0, sort_keys=True) + "\n")


def figures_of(trace: Trace, precision: str) -> dict[str, int]:
    """Parameters, the peak of the last step, and how many larger blocks it made and freed."""
    held = peak = events = made = 0
    counts = False
    for kind, argument in zip(trace.kinds, trace.arguments, strict=True):
        if kind == "m":
            counts = trace.marks[argument] == "step 1"
        if kind not in "af":
            continue
        size = trace.blocks[argument].size
        grains = -(-size // GRAIN) * GRAIN
        held += grains if kind == "a" else -grains
        if counts:
            peak = max(peak, held)
            events += size >= SMALLEST
            made += size if kind == "a" and size >= SMALLEST else 0
    width = 2 if precision in ("bf16", "fp16") else 4
    weights = trace.categories.index("parameter")
    parameters = sum(block.size for block in trace.blocks if block.category == weights) // width
    return {"parameters": parameters, "peak": peak, "events": events, "made": made}


def _traced(row: dict[str, Any], python: str, gpu: GpuType) -> Trace:
    os.environ["DESCRIBED_STEP"] = json.dumps(
        row
    )  # a step inherits the environment, as it would from a shell
    return trace_step(TraceRequest(file=STEPS / "described.py", function="build", gpu=gpu, python=python))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--python", required=True)
    parser.add_argument("--to", type=Path)
    parser.add_argument("names", nargs="*")
    return parser.parse_args()


if __name__ == "__main__":
    main()
