"""Traces every step of the measured set without a GPU and keeps the traces: `python -m accuracy.timing.trace_steps`.

The fit and its report read them beside what the device measured.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import msgspec

from accuracy.catalogue import configurations
from tonnage.cluster.gpus import find_gpu
from tonnage.errors import TonnageError
from tonnage.tracing.asking import TraceRequest
from tonnage.tracing.tracing import trace_step


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--python", help="interpreter that has torch")
    parser.add_argument("--only", default="", help="names, separated by commas")
    parser.add_argument("--again", action="store_true", help="also those that were traced before")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    gpu = find_gpu("h200")
    assert gpu is not None
    names = set(filter(None, options.only.split(",")))
    for configuration in configurations():
        file = options.out / f"{configuration.name}.trace.json"
        if (names and configuration.name not in names) or (file.exists() and not options.again):
            continue
        begin = time.perf_counter()
        request = TraceRequest(
            file=configuration.path, function=configuration.name, gpu=gpu, python=options.python
        )
        try:
            trace = trace_step(request)
        except TonnageError as problem:
            print(f"{configuration.name}: {problem}", flush=True)
            continue
        file.write_bytes(msgspec.json.encode(trace))
        print(
            f"{configuration.name}: {len(trace.calls)} calls, {time.perf_counter() - begin:.1f} s", flush=True
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
