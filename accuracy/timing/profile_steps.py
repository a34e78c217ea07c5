"""Times every step of the measured set on a real GPU, and looks inside one: `python accuracy/timing/profile_steps.py`.

For each step function of `accuracy/steps` one line in `steps.jsonl`: seconds of whole steps (synchronised before
and after), seconds until the host has asked for everything, and, from one profiled step, every operation that
ran on the GPU with its shapes, strides and dtypes: how often, how many kernels, how long.

All steps run in one process, because a fresh context for each would cost more time than the steps. What the
profiler wrote is digested by child processes when all steps are done: beside a step they would slow its host down.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import importlib
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from accuracy.catalogue import STEPS, Configuration, configurations

LONG_STEP = 0.4
"""Seconds; longer steps are repeated less often."""


def main() -> int:
    options = _options()
    options.out.mkdir(parents=True, exist_ok=True)
    chosen = _chosen(options)
    folder = Path(tempfile.mkdtemp(prefix="profiles-"))
    profiles: list[Path] = []
    begin = time.perf_counter()
    with (options.out / "steps.jsonl").open("a") as file:
        for number, configuration in enumerate(chosen):
            if time.perf_counter() - begin > options.seconds:
                print(f"out of time: {len(chosen) - number} steps left", flush=True)
                break
            line, profile = _measured(configuration, folder, options.device)
            file.write(json.dumps(line, separators=(",", ":")) + "\n")
            file.flush()
            print(f"{time.perf_counter() - begin:6.1f} s  {_told(line)}", flush=True)
            if profile:
                profiles.append(profile)
    for digest in [_digest(each, options.out / f"{each.stem}.profile.json") for each in profiles]:
        with contextlib.suppress(subprocess.TimeoutExpired):
            digest.wait(timeout=60)
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=170.0)
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--compiled", action="store_true", help="only those that torch.compile makes")
    parser.add_argument("--only", default="", help="names, separated by commas")
    parser.add_argument("--without", default="", help="names, separated by commas")
    return parser.parse_args()


def _chosen(options: argparse.Namespace) -> list[Configuration]:
    """A shuffled order: if time ends, both halves and all families have been seen."""
    names = set(filter(None, options.only.split(",")))
    found = [each for each in configurations() if each.is_compiled == options.compiled or each.name in names]
    left_out = set(options.without.split(","))
    found = [each for each in found if (not names or each.name in names) and each.name not in left_out]
    random.Random(1).shuffle(found)
    return found


def _measured(configuration: Configuration, folder: Path, device: str) -> tuple[dict[str, Any], Path | None]:
    """The line of one step and where its profile lies; a failure is a line too."""
    line: dict[str, Any] = {"name": configuration.name, "half": configuration.half}
    profile = None
    try:
        if str(STEPS) not in sys.path:
            sys.path.insert(0, str(STEPS))
        begin = time.perf_counter()
        step = getattr(importlib.import_module(configuration.file), configuration.name)()
        line["build_seconds"] = time.perf_counter() - begin
        line |= _timed(step, device)
        profile = folder / f"{configuration.name}.json"
        _profiled(step, profile, device)
        line |= _memory(device)
        del step
    except Exception as error:  # one step must not take the others down
        line["error"] = f"{type(error).__name__}: {error}"[:400]
    _cleaned(device)
    return line, profile if profile and profile.exists() else None


def _timed(step: Any, device: str) -> dict[str, Any]:
    first: list[float] = []
    for _ in range(3):
        begin = time.perf_counter()
        step()
        _wait(device)
        first.append(time.perf_counter() - begin)
    times = 5 if first[-1] < LONG_STEP else 3
    whole, asked = [], []
    for _ in range(times):
        begin = time.perf_counter()
        step()
        asked.append(time.perf_counter() - begin)
        _wait(device)
        whole.append(time.perf_counter() - begin)
    begin = time.perf_counter()
    for _ in range(3):
        step()
    _wait(device)
    streamed = (time.perf_counter() - begin) / 3
    middle = sorted(whole)[len(whole) // 2]
    return {
        "seconds": middle,
        "asked_seconds": sorted(asked)[len(asked) // 2],
        "streamed_seconds": streamed,
        "all": [round(each, 6) for each in whole],
        "first": [round(each, 6) for each in first],
    }


def _profiled(step: Any, path: Path, device: str) -> None:
    from torch.profiler import ProfilerActivity, profile

    activities = [ProfilerActivity.CPU] + ([ProfilerActivity.CUDA] if device == "cuda" else [])
    with profile(activities=activities, record_shapes=True) as recorded:
        step()
        _wait(device)
    recorded.export_chrome_trace(str(path))


def _memory(device: str) -> dict[str, int]:
    import torch

    if device != "cuda":
        return {}
    return {
        "peak_allocated": torch.cuda.max_memory_allocated(),
        "peak_reserved": torch.cuda.max_memory_reserved(),
    }


def _cleaned(device: str) -> None:
    """Nothing of one step may be left when the next begins."""
    import torch

    torch._dynamo.reset()
    gc.collect()
    if device == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()


def _digest(profile: Path, out: Path) -> subprocess.Popen[bytes]:
    script = Path(__file__).with_name("digest_profile.py")
    command = ["nice", "-n", "15", sys.executable, "-S", str(script), str(profile), str(out)]
    return subprocess.Popen(command, env={**os.environ, "OMP_NUM_THREADS": "1"})


def _told(line: dict[str, Any]) -> str:
    if "error" in line:
        return f"{line['name']}: {line['error'][:160]}"
    whole, asked = line["seconds"] * 1e3, line["asked_seconds"] * 1e3
    return f"{line['name']}: {whole:.2f} ms, asked in {asked:.2f} ms"


def _wait(device: str) -> None:
    import torch

    if device == "cuda":
        torch.cuda.synchronize()


if __name__ == "__main__":
    raise SystemExit(main())
