"""The allocator's history of configurations under given caps: where memory really goes when it is short.

Run on a machine with a GPU:  python -m accuracy.measuring.pressed --out FOLDER NAME=BYTES...

Written as `accuracy.measuring.allocators` writes its own, five steps each, failures included.
"""

from __future__ import annotations

import argparse
import gzip
import json
from pathlib import Path
from typing import Any

from accuracy.catalogue import configurations
from accuracy.measuring.allocators import recorded
from accuracy.measuring.children import alone
from accuracy.measuring.histories import load

DEVICE_BYTES = 143_155.9 * 2**20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("wanted", nargs="+")
    options = parser.parse_args()
    known = {configuration.name: configuration for configuration in configurations()}
    pairs = [(known[name], int(cap)) for name, _, cap in (each.partition("=") for each in options.wanted)]
    for configuration, _ in pairs:
        load(configuration)
    results: list[dict[str, Any]] = []
    for configuration, cap in pairs:
        result: dict[str, Any] = alone(recorded, configuration, "", cap / DEVICE_BYTES, 5)
        results.append(result)
        print({key: value for key, value in result.items() if key != "events"}, flush=True)
        with gzip.open(options.out / "pressed.json.gz", "wt") as stream:
            json.dump({"results": results}, stream, separators=(",", ":"))


if __name__ == "__main__":
    main()
