"""Where a predicted step and a measured one part: allocation by allocation, with the operation that made it.

    python -m accuracy.comparing --traces FOLDER --histories FOLDER NAME...

The measured history has only sizes; the prediction has names. Both are lined up by size, and every stretch that
differs is shown with the operations around it: the missing temporary, the wrong order, the tensor that lives on.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections import Counter
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import msgspec

from tonnage.cluster.gpus import find_gpu
from tonnage.memory.device import device_of
from tonnage.memory.program import Program, program_of
from tonnage.memory.trace import Trace

MIB = 1 << 20


def histories(folder: Path) -> dict[str, dict[str, Any]]:
    """What was measured, by name."""
    found: dict[str, dict[str, Any]] = {}
    for file in sorted(folder.glob("histories-*.json.gz")):
        with gzip.open(file) as stream:
            for result in json.load(stream)["results"]:
                if "error" not in result:
                    found[result["configuration"]] = result
    return found


def measured_step(result: dict[str, Any], step: int) -> list[int]:
    """Sizes of the blocks made in one step (0: the build), rounded as the allocator rounds."""
    marks = [result["marks"][0][0], *(mark[0] for mark in result["marks"][1:])]
    started = result["marks"][step - 1][0] if step else 0
    made = [entry[0] for entry in result["history"] if entry[0] > 0]
    # the context's own first tensor was made before the history began
    before = marks[-1] - len(made)
    return [_rounded(size) for size in made[max(started - before, 0) : marks[step] - before]]


def predicted_step(program: Program, step: int) -> list[tuple[int, str]]:
    """Sizes and makers of the blocks predicted for one step (0: the build)."""
    stretch = program.stretches[step]
    told = []
    for event, call in zip(stretch.events, stretch.calls, strict=True):
        if event >= 0 and program.slots.sizes[event]:
            told.append((program.slots.sizes[event], _maker(program, event, call)))
    return told


def _maker(program: Program, slot: int, call: int) -> str:
    trace = program.trace
    index = call if call >= 0 else program.slots.calls[slot]
    name = trace.operations[trace.calls[index].operation].name if index >= 0 else "?"
    category = program.slots.categories[slot]
    return f"{category}:{name}" if category in ("temporary", "workspace") else name


def _rounded(size: int) -> int:
    return max(512, (size + 511) // 512 * 512)


def differences(predicted: list[tuple[int, str]], measured: list[int]) -> list[str]:
    """Lines that say where the two sequences part, equal ones counted together."""
    matcher = SequenceMatcher(None, [size for size, _ in predicted], measured, autojunk=False)
    lines: Counter[str] = Counter()
    for tag, a, b, c, d in matcher.get_opcodes():
        if tag == "equal":
            continue
        before = predicted[a - 1][1] if a else "start"
        after = predicted[b][1] if b < len(predicted) else "end"
        ours = ", ".join(f"{_size(size)} {name}" for size, name in predicted[a:b][:6])
        theirs = ", ".join(_size(size) for size in measured[c:d][:8])
        place = f"after {before} before {after}"
        predicted_here = f"      predicted [{ours}]{_more(b - a, 6)}"
        lines["\n".join((place, predicted_here, f"      measured  [{theirs}]{_more(d - c, 8)}"))] += 1
    return [f"{count:4d} x {line}" for line, count in lines.most_common()]


def _more(count: int, shown: int) -> str:
    return f" and {count - shown} more" if count > shown else ""


def _size(size: int) -> str:
    return f"{size / MIB:.2f}M" if size >= MIB else str(size)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--traces", type=Path, required=True)
    parser.add_argument("--histories", type=Path, required=True)
    parser.add_argument("--step", type=int, default=2)
    parser.add_argument("--most", type=int, default=12)
    parser.add_argument("names", nargs="+")
    options = parser.parse_args()
    gpu = find_gpu("h200")
    assert gpu is not None
    truth = histories(options.histories)
    for name in options.names:
        trace = msgspec.json.decode((options.traces / f"{name}.json").read_bytes(), type=Trace)
        predicted = predicted_step(program_of(trace, device_of(gpu)), options.step)
        measured = measured_step(truth[name], options.step)
        lines = differences(predicted, measured)
        print(
            f"{name}: {len(predicted)} predicted, {len(measured)} measured, {len(lines)} kinds of difference"
        )
        print("\n".join(lines[: options.most]))


if __name__ == "__main__":
    main()
