"""Measure host memory for real, and write the table that the pod model is checked against.

    python -m accuracy.host --python TRAINING_ENVIRONMENT/bin/python [--only TEXT] [--limits]

`--limits` runs whole programs again under a memory limit: what was predicted for them, and well below.

Needs root for the memory cgroups, two free cores, 4 GiB of RAM and about five minutes. No GPU.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from accuracy.host.cases import CASES, RUNS, Case
from accuracy.host.predicting import predicted_wish
from accuracy.host.watching import V1, Watched, watch
from tonnage.memory.pod import pod_needs

HERE = Path(__file__).parent
TABLE = HERE / "measured.json"
MIB = 1024**2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--python", required=True, help="interpreter of a training environment")
    parser.add_argument(
        "--only", default="", help="only cases whose name contains this; the others stay as they are"
    )
    parser.add_argument("--limits", action="store_true", help="run the whole programs under limits instead")
    chosen = parser.parse_args()
    table: dict[str, Any] = {"cases": {}, "limits": {}}
    if (chosen.only or chosen.limits) and TABLE.exists():
        table |= json.loads(TABLE.read_text())
    if chosen.limits:
        _try_limits(table, chosen.python, chosen.only)
        return
    table["versions"] = _versions(chosen.python)
    for case in (*CASES, *RUNS):
        if chosen.only in case.name:
            table["cases"][case.name] = _measure(case, chosen.python)
            print(_line(case, table["cases"][case.name]), flush=True)
            TABLE.write_text(json.dumps(table, indent=1) + "\n")


def _try_limits(table: dict[str, Any], python: str, only: str) -> None:
    """Every whole run under what was predicted for it, and under two thirds of what it was seen to hold."""
    for case in RUNS:
        if only not in case.name:
            continue
        row = table["cases"][case.name]
        seen = max(mark["peak_firm"] for mark in row["marks"])
        limits = {"lived": pod_needs(predicted_wish(row)).ram.amount, "died": seen * 2 // 3}
        table["limits"][case.name] = {
            name: {"limit": limit, "exit_code": _run(case, python, limit).exit_code}
            for name, limit in limits.items()
        }
        print(case.name, table["limits"][case.name], flush=True)
        TABLE.write_text(json.dumps(table, indent=1) + "\n")


def _measure(case: Case, python: str) -> dict[str, Any]:
    seen = _run(case, python)
    if seen.exit_code:
        raise SystemExit(f"{case.name}: the probe ended with {seen.exit_code}")
    return {
        "probe": case.probe,
        "arguments": case.arguments,
        "environment": case.environment,
        "marks": [mark.as_json() for mark in seen.marks],
    }


def _run(case: Case, python: str, limit: int | None = None) -> Watched:
    with ExitStack() as stack:
        arguments = dict(case.arguments)
        if case.needs_folder:
            arguments["folder"] = stack.enter_context(tempfile.TemporaryDirectory())
        command = [python, "-W", "ignore", str(HERE / "probes.py"), case.probe, json.dumps(arguments)]
        return watch(command, limit=limit, environment=case.environment)


def _versions(python: str) -> dict[str, str]:
    ask = "import torch, platform; print(torch.__version__, platform.python_version())"
    told = subprocess.run([python, "-c", ask], capture_output=True, text=True, check=True).stdout.split()
    return {
        "torch": told[0],
        "python": told[1],
        "libc": " ".join(platform.libc_ver()),
        "kernel": ".".join(platform.release().split(".")[:2]),
        "cgroup": "v1" if V1.is_dir() else "v2",
        "cores": str(os.cpu_count()),
        "huge_pages": Path("/sys/kernel/mm/transparent_hugepage/enabled").read_text().strip(),
    }


def _line(case: Case, row: dict[str, Any]) -> str:
    first = row["marks"][0]["held"]
    firm = max(mark["peak_firm"] for mark in row["marks"][1:] or row["marks"])
    shm = max(mark["peak"]["shmem"] for mark in row["marks"])
    start = first["anon"] + first["shmem"] + first["kernel"]
    return f"{case.name:45} {start / MIB:8.1f} -> {firm / MIB:8.1f} MiB firm   {shm / MIB:7.1f} MiB shm"


if __name__ == "__main__":
    main()
