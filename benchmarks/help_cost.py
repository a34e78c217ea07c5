"""What `tonnage --help` costs, against the bare interpreter that must start anyway.

Prints one line of JSON. CPU time (user and system) of child processes, the median of several interleaved runs, so that
a busy machine slows both sides alike. The promise is a ratio: at most nine.
"""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
import sys

LIMIT = 9.0
ROUNDS = 15


def cpu_seconds(*command: str) -> float:
    """CPU time of one run of the command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime - before.ru_utime) + (after.ru_stime - before.ru_stime)


def main() -> int:
    pairs = [
        (cpu_seconds(sys.executable, "-c", "pass"), cpu_seconds(sys.executable, "-m", "tonnage", "--help"))
        for _ in range(ROUNDS)
    ]
    bare = statistics.median(bare for bare, _ in pairs)
    help_ = statistics.median(help_ for _, help_ in pairs)
    figures = {
        "benchmark": "help_cost",
        "bare_interpreter_cpu_ms": round(bare * 1000, 1),
        "help_cpu_ms": round(help_ * 1000, 1),
        "ratio": round(help_ / bare, 2),
        "limit": LIMIT,
    }
    print(json.dumps(figures))
    return 0 if help_ / bare <= LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())
