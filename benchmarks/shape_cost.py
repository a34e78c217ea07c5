"""What a described estimate costs: the whole command, the work alone, and how both grow with the number of layers.

Prints one line of JSON. `command_seconds` is `tonnage estimate --shape` from start to exit, as people run it, beside
its `--help`; `work_milliseconds` is memory and time of one step in a process that has imported everything and
answered nothing before. Both in CPU time, which is no less than an idle machine's wall time here (one thread).
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from typing import Any

ROUNDS = 3
PRESETS = {"distilgpt2": 6, "gpt2": 12, "llama-3-8b": 32, "llama-3-70b": 80}
"""Described models and their layers."""
BATCH, SEQUENCE, GPU = 2, 1024, "h200"

WORK = """
import sys, time
from tonnage.cli.collecting import collect_rarely
from tonnage.cluster.gpus import find_gpu
from tonnage.memory.ledger import shape_estimate
from tonnage.memory.recipe import Recipe
from tonnage.memory.shapes import find_shape
from tonnage.timing.shape import shape_step_time

collect_rarely()
name, batch, sequence, gpu = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), find_gpu(sys.argv[4])
began = time.process_time()
shape, recipe = find_shape(name), Recipe(batch, sequence)
shape_estimate(shape, recipe, gpu)
shape_step_time(shape, recipe, gpu)
print(1000 * (time.process_time() - began))
"""


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="shape-cost-") as folder:
        environment = _installed_like(folder)
        results = [measure(name, layers, environment) for name, layers in PRESETS.items()]
        help_seconds = _command_seconds(["--help"], environment)
    shallow, deep = results[0], results[-1]
    figures = {
        "benchmark": "shape_cost",
        "help_seconds": help_seconds,
        "results": results,
        "work_milliseconds_per_layer": round(
            (deep["work_milliseconds"] - shallow["work_milliseconds"]) / (deep["layers"] - shallow["layers"]),
            2,
        ),
    }
    print(json.dumps(figures))
    return 0


def measure(name: str, layers: int, environment: dict[str, str]) -> dict[str, Any]:
    """The command from start to exit, and the work alone."""
    words = ["--shape", name, "--batch", str(BATCH), "--seq", str(SEQUENCE), "--gpu", GPU, "-o", "json"]
    return {
        "shape": name,
        "layers": layers,
        "command_seconds": _command_seconds(words, environment),
        "work_milliseconds": round(statistics.median(_work(name, environment) for _ in range(ROUNDS)), 1),
    }


def _command_seconds(words: list[str], environment: dict[str, str]) -> float:
    """CPU seconds of `tonnage estimate`, after one round to warm up."""
    command = [sys.executable, "-m", "tonnage", "estimate", *words]
    return round(statistics.median([_cpu_seconds(command, environment) for _ in range(ROUNDS + 1)][1:]), 2)


def _cpu_seconds(command: list[str], environment: dict[str, str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    finished = subprocess.run(command, capture_output=True, check=False, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if finished.returncode not in (0, 1) or not finished.stdout:
        raise SystemExit(finished.stderr.decode() or f"{' '.join(command)} did not answer")
    return (after.ru_utime - before.ru_utime) + (after.ru_stime - before.ru_stime)


def _work(name: str, environment: dict[str, str]) -> float:
    command = [sys.executable, "-c", WORK, name, str(BATCH), str(SEQUENCE), GPU]
    return float(subprocess.run(command, capture_output=True, check=True, env=environment).stdout)


def _installed_like(folder: str) -> dict[str, str]:
    """An environment in which Python keeps its bytecode, as that of an installed package is."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPYCACHEPREFIX": f"{folder}/bytecode"}


if __name__ == "__main__":
    sys.exit(main())
