"""Traces of the measured set, kept in a folder so that rules can be worked on without tracing again.

python -m accuracy.tracing --python INTERPRETER --to FOLDER [NAME...]
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import msgspec

from accuracy.catalogue import configurations
from tonnage.cluster.gpus import find_gpu
from tonnage.errors import TonnageError
from tonnage.tracing import TraceRequest, trace_step


def trace_all(python: str, folder: Path, names: list[str], gpu: str = "h200") -> None:
    """Trace the named configurations (all where none is named) into a folder, one file each."""
    folder.mkdir(parents=True, exist_ok=True)
    device = find_gpu(gpu)
    assert device is not None
    for configuration in configurations():
        if names and configuration.name not in names:
            continue
        started = time.monotonic()
        request = TraceRequest(
            file=configuration.path, function=configuration.name, gpu=device, python=python
        )
        try:
            trace = trace_step(request)
        except TonnageError as failure:
            print(f"{configuration.name:36s} {failure}", flush=True)
            continue
        (folder / f"{configuration.name}.json").write_bytes(msgspec.json.encode(trace))
        notes = " ".join(note.code for note in trace.notes)
        print(f"{configuration.name:36s} {time.monotonic() - started:6.1f} s {notes}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", required=True)
    parser.add_argument("--to", type=Path, required=True)
    parser.add_argument("--gpu", default="h200")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    trace_all(options.python, options.to, options.names, options.gpu)


if __name__ == "__main__":
    main()
