"""Predictions written down before anything is measured, so that nobody can say later that they knew.

python -m accuracy.predicting --traces FOLDER --to accuracy/predictions/FILE.json [NAME...]
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import msgspec

from tonnage.cluster.gpus import find_gpu
from tonnage.memory.exact import exact_estimate
from tonnage.memory.trace import Trace
from tonnage.timing.step import step_time


def predicted(trace: Trace) -> dict[str, Any]:
    """The figures that a measurement can be held against."""
    gpu = find_gpu("h200")
    assert gpu is not None
    estimate = exact_estimate(trace, gpu, step_seconds=step_time(trace, gpu))
    pace = estimate.step_seconds
    return {
        "peak_allocated": estimate.peak_allocated, "peak_reserved": estimate.peak_reserved,
        "smallest_cap": estimate.smallest_cap, "outside_allocator": estimate.outside_allocator,
        "required": estimate.required,
        "step_seconds": [round(value, 5) for value in (pace.p10, pace.p50, pace.p90)] if pace else None,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--traces", type=Path, required=True)
    parser.add_argument("--to", type=Path, required=True)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    found = json.loads(options.to.read_text()) if options.to.exists() else {}
    for file in sorted(options.traces.glob("*.json")):
        if not options.names or file.stem in options.names:
            found[file.stem] = predicted(msgspec.json.decode(file.read_bytes(), type=Trace))
            print(f"{file.stem:36s} {found[file.stem]}", flush=True)
    lines = ",\n".join(f" {json.dumps(name)}: {json.dumps(value)}" for name, value in found.items())
    options.to.write_text(f"{{\n{lines}\n}}\n")


if __name__ == "__main__":
    main()
