"""Makes a profiler's trace small: `python digest_profile.py TRACE.json OUT.json`; standard library only.

Kernels are joined to the operation that launched them by the profiler's external id. Operations that are alike
(name, shapes, strides, dtypes, plain arguments) become one row; the order in which they ran is kept as a list
of row numbers, so that a step can be walked through again. The operations around the innermost one are named
too: a trace may know the work by one of their names (`convolution` where the kernel came from `cudnn_convolution`).
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

DEVICE_WORK = {"kernel", "gpu_memcpy", "gpu_memset"}
MOST_AROUND = 3


def main() -> int:
    source, out = Path(sys.argv[1]), Path(sys.argv[2])
    events = json.loads(source.read_text())["traceEvents"]
    out.write_text(json.dumps(digested(events), separators=(",", ":")))
    source.unlink()
    return 0


def digested(events: list[dict[str, Any]]) -> dict[str, Any]:
    """Rows of operations with their GPU time, the order they ran in, and the GPU's busy time."""
    asked = {
        event["args"]["External id"]: event
        for event in events
        if event.get("cat") == "cpu_op" and "External id" in event.get("args", {})
    }
    outer = _enclosing(list(asked.values()))
    work = sorted((event for event in events if event.get("cat") in DEVICE_WORK), key=lambda each: each["ts"])
    rows: dict[str, dict[str, Any]] = {}
    sequence: list[list[int]] = []
    last = None
    for event in work:
        identity = event.get("args", {}).get("External id", -1)
        row = _row(rows, asked.get(identity), outer, event)
        row["kernels"] += 1
        row["us"] += event["dur"]
        row["names"][event["name"][:60]] += 1
        if identity != last:
            row["calls"] += 1
            sequence.append([row["number"], 0])
        sequence[-1][1] += round(event["dur"] * 100)
        last = identity
    return {
        "rows": [row | {"names": dict(row["names"].most_common(4))} for row in rows.values()],
        "sequence": sequence,
        "gpu_us": sum(event["dur"] for event in work),
        "span_us": work[-1]["ts"] + work[-1]["dur"] - work[0]["ts"] if work else 0,
        "kernels": len(work),
        "asked": Counter(event["name"] for event in asked.values()),
    }


def _enclosing(operations: list[dict[str, Any]]) -> dict[int, list[dict[str, Any]]]:
    """The operations around each one, nearest first, by external id: those of its thread that were open then."""
    found: dict[int, list[dict[str, Any]]] = {}
    by_thread: dict[Any, list[dict[str, Any]]] = {}
    for event in operations:
        by_thread.setdefault(event.get("tid"), []).append(event)
    for events in by_thread.values():
        events.sort(key=lambda each: (each["ts"], -each["dur"]))
        opened: list[dict[str, Any]] = []
        for event in events:
            while opened and opened[-1]["ts"] + opened[-1]["dur"] < event["ts"] + event["dur"]:
                opened.pop()
            found[event["args"]["External id"]] = opened[: -MOST_AROUND - 1 : -1]
            opened.append(event)
    return found


def _row(
    rows: dict[str, dict[str, Any]],
    asked: dict[str, Any] | None,
    outer: dict[int, list[dict[str, Any]]],
    event: dict[str, Any],
) -> dict[str, Any]:
    arguments = asked["args"] if asked else {}
    around = outer.get(arguments.get("External id", -1), [])
    told = {
        "op": asked["name"] if asked else f"?{event['name'][:60]}",
        "shapes": arguments.get("Input Dims", []),
        "strides": arguments.get("Input Strides", []),
        "types": arguments.get("Input type", []),
        "concrete": arguments.get("Concrete Inputs", []),
        "around": [
            [each["name"], each["args"].get("Input Dims", []), each["args"].get("Input type", [])]
            for each in around
        ],
    }
    key = json.dumps(told)
    if key not in rows:
        rows[key] = told | {"number": len(rows), "calls": 0, "kernels": 0, "us": 0.0, "names": Counter()}
    return rows[key]


if __name__ == "__main__":
    raise SystemExit(main())
