"""How often the diagnosis names the right class, on labelled failure texts.

    python benchmarks/diagnosis_accuracy.py FOLDER [--show calibration|held_out]

FOLDER has NAME.log files and labels.csv (columns name, class, root_or_victim, retry, negative, ...). Rules were written
while looking at two thirds of the names (chosen by a hash of the name); the other third is reported apart and is the
figure to believe. Prints one line of JSON: macro-F1 over the classes that occur, accuracy, root and retry agreement,
and how often more memory would have been advised where memory was not the cause.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import sys
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from tonnage.diagnosis.classifying import classify
from tonnage.diagnosis.finding import Finding
from tonnage.diagnosis.logs import evidence_from_log

HELD_OUT_OF = 3
RAISES_MEMORY = frozenset(
    ("MEM-01", "MEM-02", "MEM-03", "MEM-04", "MEM-05", "MEM-06", "MEM-07", "MEM-08", "MEM-10", "MEM-12")
)
_IS_ROOT = {"root": True, "victim": False, "unknown": None}


@dataclass(frozen=True)
class Case:
    """One labelled text and what was found in it."""

    label: dict[str, str]
    finding: Finding

    @property
    def is_right(self) -> bool:
        return self.finding.code == self.label["class"]

    @property
    def is_false_advice(self) -> bool:
        return self.label["memory_advice_ok"] == "no" and self.finding.code in RAISES_MEMORY


def is_held_out(name: str) -> bool:
    """Whether a name belongs to the third that rules were not written on."""
    return int(hashlib.sha256(name.encode()).hexdigest(), 16) % HELD_OUT_OF == 0


def macro_f1(cases: list[Case]) -> float:
    """Mean F1 over the classes that occur as label or as answer."""
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for case in cases:
        if case.is_right:
            counts[case.label["class"]][0] += 1
        else:
            counts[case.finding.code][1] += 1
            counts[case.label["class"]][2] += 1
    scores = [2 * hit / (2 * hit + wrong + missed) for hit, wrong, missed in counts.values()]
    return sum(scores) / len(scores) if scores else 0.0


def figures(cases: list[Case]) -> dict[str, float | int]:
    """What is reported of one part."""
    return {
        "texts": len(cases),
        "macro_f1": round(macro_f1(cases), 3),
        "accuracy": round(_share(case.is_right for case in cases), 3),
        "root": round(
            _share(case.finding.is_root is _IS_ROOT[case.label["root_or_victim"]] for case in cases), 3
        ),
        "retry": round(_share(case.finding.retry == case.label["retry"] for case in cases), 3),
        "false_memory_advice": sum(case.is_false_advice for case in cases),
    }


def _share(hits: object) -> float:
    values = list(hits)  # type: ignore[call-overload]
    return sum(values) / len(values) if values else 0.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--show", choices=["calibration", "held_out"], help="print the mistakes of one part")
    options = parser.parse_args()
    parts: dict[str, list[Case]] = {"calibration": [], "held_out": []}
    took = 0.0
    with (options.folder / "labels.csv").open(newline="") as file:
        for label in csv.DictReader(file):
            text = (options.folder / f"{label['name']}.log").read_text(errors="replace")
            began = time.perf_counter()
            finding = classify(evidence_from_log(text))
            took = max(took, time.perf_counter() - began)
            parts["held_out" if is_held_out(label["name"]) else "calibration"].append(Case(label, finding))
    for case in parts.get(options.show, ()):
        if not case.is_right:
            told = (case.finding.code, [line.text[:120] for line in case.finding.evidence[:2]])
            print(case.label["name"], case.label["class"], *told, file=sys.stderr)
    report = {"benchmark": "diagnosis_accuracy", **{name: figures(cases) for name, cases in parts.items()}}
    print(json.dumps(report | {"slowest_ms": round(1000 * took, 1)}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
