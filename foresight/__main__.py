"""The table: our forecast beside what people use now, on the same series, in one run.

    python -m foresight FOLDER                     real pods (pod_memory_util.csv.gz) and made series, the report half
    python -m foresight                            made series alone: a small sample without data, for CI
    python -m foresight FOLDER --half tuning       the half that constants were chosen on
    python -m foresight FOLDER --write             also docs/reports/foresight-DATE.md

The protocol is in `judging`, the kinds of series in `backgrounds`, `leaks` and `strange`.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from datetime import date
from pathlib import Path

from foresight.cases import Case
from foresight.drawing import grown, others, protocol
from foresight.judging import Standing, judge
from foresight.pods import read_pods
from foresight.rivals import DETECTORS
from foresight.writing import HEAD, page, row

REPORTS = Path(__file__).parents[1] / "docs" / "reports"


def main() -> int:
    asked = _arguments().parse_args()
    pods = read_pods(asked.folder) if asked.folder else []
    if asked.folder and not pods:
        print(
            f"{asked.folder}: no pod_memory_util.csv or .csv.gz in it; expected value,timestamp_anon,container_ip"
        )
        return 1
    sets: dict[str, list[Case]] = {
        "protocol": list(protocol(pods, asked.half, asked.each)),
        "others": list(others(asked.half, max(1, asked.each // 2))),
        "grown": list(grown(pods, asked.half)),
    }
    standings = {name: _judged(cases) for name, cases in sets.items() if cases}
    for name, found in standings.items():
        print(f"\n{name}: {_counts(sets[name])}\n{HEAD}")
        print("\n".join(row(each) for each in found))
    if asked.write:
        path = REPORTS / f"foresight-{date.today().isoformat()}.md"
        path.write_text(page(standings, sets, asked.half, len(pods)), encoding="utf-8")
        print(f"\nwritten to {path}")
    if asked.json:
        print(json.dumps({name: [each.figures() for each in found] for name, found in standings.items()}))
    return 0


def _judged(cases: Iterable[Case]) -> list[Standing]:
    kept = list(cases)
    return [judge(name, detector, kept) for name, detector in DETECTORS.items()]


def _counts(cases: Iterable[Case]) -> str:
    kept = list(cases)
    leaks = sum(bool(case.leak) for case in kept)
    return f"{len(kept) - leaks} series without a leak, {leaks} with one"


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m foresight", description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, help="folder with pod_memory_util.csv.gz")
    parser.add_argument("--half", choices=["tuning", "report"], default="report")
    parser.add_argument("--each", type=int, default=60, help="made series of each kind (60)")
    parser.add_argument("--write", action="store_true", help="write a dated report into docs/reports")
    parser.add_argument("--json", action="store_true", help="end with one line of JSON")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
