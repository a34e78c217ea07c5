"""From what a device run left behind to the committed table of measurements.

    python -m accuracy.collecting --from FOLDER... --gpu h200 --date DAY --to accuracy/measurements/FILE.json

Rows the table has already stay, unless a folder has them too; later folders win. The table holds, per configuration:
peaks, the bracket of the smallest cap (largest that failed, smallest that trained), memory outside the allocator, and
seconds per step.
"""

from __future__ import annotations

import argparse
import gzip
import json
from pathlib import Path
from typing import Any

from accuracy.catalogue import Configuration, configurations


def collected(folders: list[Path]) -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
    """Rows by name, and the versions they were measured with."""
    rows: dict[str, dict[str, Any]] = {}
    versions: dict[str, Any] = {}
    for folder in folders:
        for file in sorted(folder.glob("histories*.json.gz")):
            with gzip.open(file) as stream:
                found = json.load(stream)
            versions |= found["versions"]
            for result in found["results"]:
                if "error" not in result:
                    rows.setdefault(result["configuration"], {}).update(_row(result))
        caps = folder / "caps.json"
        if caps.exists():
            for name, cap in json.loads(caps.read_text()).items():
                if cap["trained"] and not cap["error"]:
                    rows.setdefault(name, {}).update(cap_failed=cap["failed"], cap_trained=cap["trained"])
    return rows, versions


MOST_OUTSIDE = 1 << 30
"""More than this outside one process' allocator means that others ran beside it: neither that nor its time counts."""


def _row(result: dict[str, Any]) -> dict[str, Any]:
    seconds = result["seconds"]
    if result["outside"] > MOST_OUTSIDE:  # disturbed by trials beside it
        return {"peak_allocated": result["peak_allocated"], "peak_reserved": result["peak_reserved"]}
    return {
        "peak_allocated": result["peak_allocated"], "peak_reserved": result["peak_reserved"],
        "outside": result["outside"], "context": result["context"],
        "step_seconds": round(seconds["median"], 5), "step_least": round(seconds["least"], 5),
        "step_most": round(seconds["most"], 5), "launch_seconds": round(seconds["launch"], 5),
    }  # fmt: skip


ALONE = ("outside", "context", "step_seconds", "step_least", "step_most", "launch_seconds")
"""What says nothing where a rank of many was measured alone."""


def _kept(configuration: Configuration, row: dict[str, Any]) -> dict[str, Any]:
    left_out = ("file", "half", *(ALONE if configuration.is_one_of_many else ()))
    return {key: value for key, value in row.items() if key not in left_out}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--from", dest="folders", type=Path, nargs="+", required=True)
    parser.add_argument("--gpu", required=True)
    parser.add_argument("--date", required=True)
    parser.add_argument("--to", type=Path, required=True)
    options = parser.parse_args()
    rows, versions = collected(options.folders)
    order = {c.name: (c, n) for n, c in enumerate(configurations())}
    if options.to.exists():
        rows = {row.pop("name"): row for row in json.loads(options.to.read_text())["rows"]} | rows
    table = [
        {"name": name, "file": order[name][0].file, "half": order[name][0].half}
        | _kept(order[name][0], rows[name])
        for name in sorted(rows, key=lambda name: order[name][1])
    ]
    head = {"gpu": options.gpu, "date": options.date, **versions}
    lines = ",\n".join("    " + json.dumps(row) for row in table)
    options.to.parent.mkdir(parents=True, exist_ok=True)
    options.to.write_text(f'{{\n  "measured": {json.dumps(head)},\n  "rows": [\n{lines}\n  ]\n}}\n')
    print(f"{len(table)} configurations, {sum('cap_trained' in row for row in table)} with a cap")


if __name__ == "__main__":
    main()
