"""Make a TASKS.csv for `tonnage rightsize backtest` from traces that Nextflow wrote.

python dev/nextflow_tasks.py chipseq.csv.gz mag.csv.gz > tasks.csv

A signature is the trace's name and the process. Rows without a measured peak (processes that ended before they could be
looked at) are left out and counted on standard error; times become seconds.
"""

from __future__ import annotations

import csv
import gzip
import sys
from collections.abc import Iterator
from pathlib import Path

COLUMNS = ("signature", "start", "end", "requested_bytes", "peak_bytes")


def main(paths: list[str]) -> int:
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(COLUMNS)
    for path in paths:
        writer.writerows(tasks_of(Path(path)))
    return 0 if paths else 2


def tasks_of(path: Path) -> Iterator[tuple[str, float, float, int, int]]:
    """The rows of one trace that say what they used."""
    workflow = path.name.split(".")[0]
    num_left_out = 0
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as file:
        for row in csv.DictReader(file):
            try:
                start, end = int(row["start"]) / 1000, int(row["complete"]) / 1000
                requested, peak = int(float(row["memory"])), int(float(row["peak_rss"]))
            except ValueError:  # Nextflow writes "-" for what it does not know
                num_left_out += 1
                continue
            if peak <= 0:
                num_left_out += 1
                continue
            yield f"{workflow}/{row['process']}", start, end, requested, peak
    print(f"{path.name}: {num_left_out} rows without a measured peak left out", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
