"""What a forecast costs: the judging alone by the length of the series, reading it, and the whole command.

Prints one line of JSON. `forecast_milliseconds` is the verdict on a series in memory, `read_milliseconds` parsing the
CSV, both in a process that has imported everything; `command_seconds` is `tonnage forecast` from start to exit. CPU
time, the median of a few rounds.
"""

from __future__ import annotations

import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tonnage.cli.forecast_reading import read_series
from tonnage.memory.series.forecasting import forecast

ROUNDS = 5
GIB = 2**30
LENGTHS = (1_441, 20_000, 1_000_000)


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="forecast-cost-") as folder:
        results = [measure(Path(folder), length) for length in LENGTHS]
    print(json.dumps({"benchmark": "forecast_cost", "results": results}))
    return 0


def measure(folder: Path, length: int) -> dict[str, Any]:
    """A leak of so many measurements under saw teeth and noise."""
    path = folder / f"{length}.csv"
    path.write_text(_csv(length), encoding="utf-8")
    points = read_series(str(path)).points
    rounds = ROUNDS if length < 100_000 else 2
    return {
        "measurements": length,
        "forecast_milliseconds": _milliseconds(lambda: forecast(points, 64 * GIB), rounds),
        "read_milliseconds": _milliseconds(lambda: read_series(str(path)), rounds),
        "command_seconds": round(_command_seconds(path, folder, rounds), 2),
    }


def _csv(length: int) -> str:
    chance = random.Random(length)
    rows = ["time,bytes"]
    for place in range(length):
        grown = 30 * place / length + 6 * (place * 40 / length % 1) + chance.gauss(0, 0.2)
        rows.append(f"{place * 57},{round((20 + grown) * GIB)}")
    return "\n".join(rows)


def _milliseconds(work: Callable[[], object], rounds: int) -> float:
    spent = []
    for _ in range(rounds):
        began = time.process_time()
        work()
        spent.append(1000 * (time.process_time() - began))
    return round(statistics.median(spent), 1)


def _command_seconds(path: Path, folder: Path, rounds: int) -> float:
    # Python keeps its bytecode, as an installed package's is; the first round writes it.
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment = {**kept, "PYTHONPYCACHEPREFIX": f"{folder}/bytecode"}
    command = [sys.executable, "-m", "tonnage", "forecast", str(path), "--limit", "64Gi", "-o", "json"]
    spent = []
    for _ in range(rounds + 1):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, capture_output=True, check=True, env=environment)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent.append(after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)
    return statistics.median(spent[1:])


if __name__ == "__main__":
    sys.exit(main())
