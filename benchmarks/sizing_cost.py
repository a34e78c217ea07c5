"""What a back-test costs, and how it grows with the number of runs.

python benchmarks/sizing_cost.py [RUNS ...]     10,000 and 100,000 by default

Prints one line of JSON. Histories are made up: 200 runs to a signature, peaks with a spread of a tenth, several running
at a time. `seconds` is CPU time of all five policies at both times to failure, without reading the file.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from random import Random

from tonnage.sizing.comparing import compare
from tonnage.sizing.task import Task

GIB = 2.0**30
RUNS_PER_SIGNATURE = 200


def main(words: list[str]) -> int:
    sizes = [int(word.replace(",", "")) for word in words] or [10_000, 100_000]
    print(json.dumps({"benchmark": "sizing_cost", "results": [measure(size) for size in sizes]}))
    return 0


def measure(num_runs: int) -> dict[str, float]:
    """CPU seconds of one comparison."""
    tasks = made_up(num_runs)
    began = time.process_time()
    compare(tasks)
    seconds = time.process_time() - began
    return {
        "runs": num_runs,
        "seconds": round(seconds, 1),
        "microseconds_per_run": round(1e6 * seconds / num_runs),
        "peak_memory_mib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }


def made_up(num_runs: int) -> list[Task]:
    """Signatures of different sizes, each with its own pace."""
    chance = Random(1)
    tasks: list[Task] = []
    for number in range(-(-num_runs // RUNS_PER_SIGNATURE)):
        typical, seconds, begins = GIB * chance.lognormvariate(1, 1), chance.lognormvariate(6, 1), 0.0
        for _ in range(min(RUNS_PER_SIGNATURE, num_runs - len(tasks))):
            begins += chance.expovariate(4 / seconds)
            end = begins + seconds * chance.uniform(0.7, 1.3)
            peak = typical * chance.lognormvariate(0, 0.1)
            tasks.append(Task(f"signature-{number}", begins, end, 4 * typical, peak))
    return tasks


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
