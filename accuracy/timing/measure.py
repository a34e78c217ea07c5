"""Times what a training step consists of, on a real GPU: `python accuracy/timing/measure.py --out FOLDER`.

Writes `operations.jsonl` (one timed operation a line), `host.jsonl` (small steps) and `machine.json`. Every
case guards itself, every line is flushed when it is known, and each section has its share of the time, so that
a run that is cut short leaves what it had. `--dry` runs every case on tensors without data, and the small steps
on the CPU, which finds every mistake but the figures.
"""

from __future__ import annotations

import argparse
import json
import platform
import random
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TextIO

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import torch

from accuracy.timing import (
    attention_cases,
    convolution_cases,
    elementwise_cases,
    host_steps,
    matrix_cases,
    norm_cases,
    optimizer_cases,
)
from accuracy.timing.cases import Case, described
from accuracy.timing.clocking import Clock

Section = tuple[str, Callable[[str], Iterator[Case]], float]

# Shares of the whole time, in the order they run: what matters most comes first.
SECTIONS: tuple[Section, ...] = (
    ("matrix", matrix_cases.matrix_cases, 0.20),
    ("elementwise", elementwise_cases.elementwise_cases, 0.15),
    ("attention", attention_cases.attention_cases, 0.12),
    ("norms", norm_cases.norm_cases, 0.10),
    ("convolution", convolution_cases.convolution_cases, 0.20),
    ("harvested", convolution_cases.harvested_cases, 0.0),
    ("optimizer", optimizer_cases.optimizer_cases, 0.05),
    ("moving", optimizer_cases.moving_cases, 0.02),
)
HOST_SHARE = 0.16
COLD_BYTES = 3 * 2**26
"""Inputs rotate through this many bytes, three times the largest L2, where a case is to run cold."""


def main() -> int:
    options = _options()
    options.out.mkdir(parents=True, exist_ok=True)
    device = "meta" if options.dry else "cuda"
    begin = time.perf_counter()
    (options.out / "machine.json").write_text(json.dumps(_machine(device), indent=1))
    clock = Clock(device)
    failures = 0
    wanted = set(filter(None, options.sections.split(",")))
    if not wanted or "host" in wanted:
        share = 1.0 / len(wanted) if wanted else HOST_SHARE
        with (options.out / "host.jsonl").open("w") as file:
            failures += _host("cpu" if options.dry else device, file, share * options.seconds, options.most)
    with (options.out / "operations.jsonl").open("w") as file:
        left_over = 0.0
        chosen = [each for each in SECTIONS if not wanted or each[0] in wanted]
        for name, make, usual in chosen:
            share = 1.0 / len(wanted) if wanted else usual
            allowed = share * options.seconds + left_over
            done, failed, spent = _section(make, clock, file, allowed, options)
            left_over = max(0.0, allowed - spent)
            failures += failed
            print(f"{name}: {done} timed, {failed} failed, {spent:.1f} of {allowed:.1f} s", flush=True)
    print(f"total {time.perf_counter() - begin:.1f} s, {failures} failures", flush=True)
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=130.0)
    parser.add_argument("--dry", action="store_true")
    parser.add_argument(
        "--sections", default="", help="only these, separated by commas, sharing the time evenly"
    )
    parser.add_argument("--most", type=int, default=10**6, help="cases per section (for a dry run)")
    return parser.parse_args()


def _section(
    make: Callable[[str], Iterator[Case]], clock: Clock, file: TextIO, allowed: float, options: Any
) -> tuple[int, int, float]:
    """Runs a section's cases in a shuffled order: where time ends, what is missing is a random part."""
    begin = time.perf_counter()
    cases = list(make(clock.device))
    random.Random(3).shuffle(cases)
    done = failed = 0
    for case in cases[: options.most]:
        if time.perf_counter() - begin > allowed:
            print(f"  out of time: {len(cases) - done - failed} cases left", flush=True)
            break
        try:
            line = _timed(case, clock)
        except Exception as error:  # one case must not take the others down
            line = {"failed": str(case.op), "error": f"{type(error).__name__}: {error}"[:300]}
            failed += 1
        else:
            done += 1
        file.write(json.dumps(line, separators=(",", ":")) + "\n")
        file.flush()
    return done, failed, time.perf_counter() - begin


def _timed(case: Case, clock: Clock) -> dict[str, Any]:
    """The line of one case."""
    torch.backends.cuda.matmul.allow_tf32 = case.tf32
    sets = [case.build()]
    size = sum(each.numel() * each.element_size() for each in _flat(sets[0]))
    if case.cold:
        sets += [case.build() for _ in range(min(200, COLD_BYTES // max(size, 1)))]
    result = case.op(*sets[0], **case.keywords)
    line = described(case.op, sets[0], case.keywords, result)
    del result
    turn = 0

    def run() -> object:
        nonlocal turn
        turn += 1
        return case.op(*sets[turn % len(sets)], **case.keywords)

    timing = clock.time(run, kernels=case.kernels)
    gpu, host = round(timing.gpu * 1e6, 3), round(timing.host * 1e6, 2)
    return line | {"section": case.section, "us": gpu, "host_us": host, "cold": case.cold, "tf32": case.tf32}


def _flat(values: Any) -> Iterator[torch.Tensor]:
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, list | tuple):
            yield from _flat(value)


def _host(device: str, file: TextIO, allowed: float, most: int) -> int:
    host_steps.load_libraries()
    begin = time.perf_counter()
    failed = done = 0
    for build in list(host_steps.small_steps(device))[:most]:
        if time.perf_counter() - begin > allowed:
            break
        try:
            line = host_steps.timed_phases(build(), device)
            done += 1
        except Exception as error:  # one step must not take the others down
            line = {"error": f"{type(error).__name__}: {error}"[:300]}
            failed += 1
        file.write(json.dumps(line, separators=(",", ":")) + "\n")
        file.flush()
    print(f"host: {done} steps, {failed} failed, {time.perf_counter() - begin:.1f} s", flush=True)
    return failed


def _machine(device: str) -> dict[str, Any]:
    about: dict[str, Any] = {
        "torch": torch.__version__,
        "python": platform.python_version(),
        "cuda": torch.version.cuda,
        "cudnn": torch.backends.cudnn.version(),
        "cpu": _processor(),
    }
    if device == "cuda":
        properties = torch.cuda.get_device_properties(0)
        about["gpu"] = properties.name
        about["sm_count"] = properties.multi_processor_count
        about["total_memory"] = properties.total_memory
        about["l2"] = properties.L2_cache_size
    return about


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")


if __name__ == "__main__":
    raise SystemExit(main())
