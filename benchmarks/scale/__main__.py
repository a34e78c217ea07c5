"""`python -m benchmarks.scale`: follow a large cluster and print one line of JSON.

    python -m benchmarks.scale                         5,000 nodes, 150,000 pods, 1,000 changes/s, and a
    quarter of it python -m benchmarks.scale --live KUBECONFIG       the same code on a real API server

Exit code 1 when the largest run needed a gigabyte or more, or fell behind.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

MOST_MIB = 1000
ROOT = Path(__file__).parents[2]


def run(nodes: int, pods: int, rate: float, seconds: float) -> dict[str, Any]:
    """One size: a replay server and a follower, each in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.scale.replay", f"--nodes={nodes}", f"--pods={pods}"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            port = server.stdout.readline().strip()
            follower = [sys.executable, "-m", "benchmarks.scale.follower", f"http://127.0.0.1:{port}"]
            done = subprocess.run(
                [*follower, str(rate), str(seconds)], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True
            )
        finally:
            server.kill()
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--nodes", type=int, default=5_000)
    parser.add_argument("--pods", type=int, default=150_000)
    parser.add_argument("--rate", type=float, default=1_000)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument(
        "--live", type=Path, metavar="KUBECONFIG", help="a real API server instead of the replay"
    )
    options = parser.parse_args()
    if options.live is not None:
        from benchmarks.scale.live import measure_live

        print(json.dumps({"live": measure_live(options.live, options.seconds)}))
        return 0
    quarter = run(options.nodes // 4, options.pods // 4, options.rate, options.seconds)
    whole = run(options.nodes, options.pods, options.rate, options.seconds)
    growth = {
        name: round(whole[name] / quarter[name], 2)
        for name in ("rss_synced_mib", "cpu_us_per_change", "sync_cpu_us_per_object")
        if quarter[name]
    }
    print(json.dumps({"quarter": quarter, "whole": whole, "growth_for_4x": growth}))
    return 0 if whole["peak_mib"] < MOST_MIB and whole["lag_ms_p99"] < 1000 else 1


if __name__ == "__main__":
    sys.exit(main())
