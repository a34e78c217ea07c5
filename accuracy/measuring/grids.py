"""The smallest cap of slow-starting configurations: many caps side by side instead of a bisection one after another.

Run on a machine with a GPU:  python -m accuracy.measuring.grids --out FOLDER NAME=LOW:HIGH...

A compiled step takes long to begin, so a search that waits for each trial would not end. Caps are spread evenly over
the bracket; written as `accuracy.measuring.caps` writes its own.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

from accuracy.catalogue import configurations
from accuracy.measuring.caps import trial
from accuracy.measuring.children import Child
from accuracy.measuring.histories import load

POINTS = 9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--limit", type=float, default=60)
    parser.add_argument("wanted", nargs="+")
    options = parser.parse_args()
    known = {configuration.name: configuration for configuration in configurations()}
    started = time.monotonic()
    running: list[tuple[str, int, Child]] = []
    for each in options.wanted:
        name, _, bracket = each.partition("=")
        low, high = (int(end) for end in bracket.split(":"))
        load(known[name])
        for point in range(POINTS):
            cap = low + (high - low) * point // (POINTS - 1)
            running.append((name, cap, Child(trial, known[name], cap)))
    found: dict[str, list[Any]] = {}
    while running and time.monotonic() - started < options.limit:
        for entry in list(running):
            name, cap, child = entry
            if child.poll(0.02):
                found.setdefault(name, []).append([cap, child.result()])
                running.remove(entry)
                (options.out / f"grid-{name}.json").write_text(json.dumps(found))
    for _, _, child in running:
        child.kill()
    print(found)


if __name__ == "__main__":
    main()
