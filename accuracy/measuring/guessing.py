"""Where to look first for a configuration's smallest cap: its own recorded history, replayed under limits.

    python -m accuracy.measuring.guessing --histories FOLDER --to FILE

Only to save trials: what counts is what the device says.
"""

from __future__ import annotations

import argparse
import gzip
import json
from pathlib import Path
from typing import Any

from tonnage.memory.allocator import CachingAllocator, OutOfMemoryError

MIB = 1 << 20


def replayed(history: list[list[int]], limit: int | None = None) -> CachingAllocator:
    """The allocator model after the recorded events; raise OutOfMemoryError where the limit does not suffice."""
    allocator = CachingAllocator(limit=limit)
    blocks: dict[int, Any] = {}
    made = 0
    for entry in history:
        if entry[0] > 0:
            made += 1
            blocks[made] = allocator.malloc(entry[0], entry[1] if len(entry) > 1 else 0)
        elif entry[0] < 0:
            block = blocks.pop(-entry[0], None)
            if block is not None:
                allocator.free(block)
    return allocator


def smallest(history: list[list[int]]) -> tuple[int, int, int]:
    """Smallest limit, and the peaks without one."""
    free = replayed(history)
    low, high = free.peak_allocated, free.peak_reserved
    while high - low > 4 * MIB:
        middle = (low + high) // 2
        try:
            replayed(history, middle)
            high = middle
        except OutOfMemoryError:
            low = middle
    return high, free.peak_allocated, free.peak_reserved


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--histories", type=Path, required=True)
    parser.add_argument("--to", type=Path, required=True)
    options = parser.parse_args()
    guesses = json.loads(options.to.read_text()) if options.to.exists() else {}
    for file in sorted(options.histories.glob("histories-*.json.gz")):
        with gzip.open(file) as stream:
            results = json.load(stream)["results"]
        for result in results:
            if "error" in result:
                continue
            cap, allocated, reserved = smallest(result["history"])
            guesses[result["configuration"]] = cap
            print(
                f"{result['configuration']:36s} cap {cap / MIB:9.1f}"
                f"  allocated {allocated / MIB:9.1f} of {result['peak_allocated'] / MIB:9.1f}"
                f"  reserved {reserved / MIB:8.0f} of {result['peak_reserved'] / MIB:8.0f}",
                flush=True,
            )
    options.to.write_text(json.dumps(guesses))


if __name__ == "__main__":
    main()
