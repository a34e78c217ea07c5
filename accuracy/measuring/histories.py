"""Peaks, times and the allocator's own history of every configuration, and what each operation allocates inside.

Run on a machine with a GPU:  python -m accuracy.measuring.histories --out FOLDER [--limit SECONDS] [NAME...]

For each configuration, in a process of its own:
  1. build and three steps with the allocator's history on: peaks per step, device use, every allocation in order;
  2. three warm steps more and five timed ones;
  3. one step under a dispatch mode that notes, operation by operation, what was allocated and freed meanwhile:
     what is gone again at the end of an operation was a temporary inside it.
"""

from __future__ import annotations

import argparse
import gc
import gzip
import importlib
import json
import re
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from accuracy.catalogue import STEPS, Configuration, configurations
from accuracy.measuring.children import alone

PARTS = 3
"""Files the results are spread over: what comes back from a lent machine is limited per file."""
FREED, MADE = "free_completed", "alloc"
SEGMENTS = {"segment_alloc": 1, "segment_free": 2, "segment_map": 3, "segment_unmap": 4}


def load(configuration: Configuration) -> Any:
    """The step function, imported as `python FILE.py` would see its neighbours."""
    if str(STEPS) not in sys.path:
        sys.path.insert(0, str(STEPS))
    return getattr(importlib.import_module(configuration.file), configuration.name)


def used() -> int:
    free, total = torch.cuda.mem_get_info()
    return int(total - free)


def measure(configuration: Configuration, *, annotate: bool) -> dict[str, Any]:
    """Everything about one configuration."""
    build = load(configuration)
    torch.zeros(1, device="cuda")
    torch.cuda.synchronize()
    found: dict[str, Any] = {
        "cudnn": torch.backends.cudnn.version(),
        "name": configuration.name,
        "context": used() - torch.cuda.memory_reserved(),
    }
    torch.cuda.memory._record_memory_history(max_entries=2_000_000, context=None)
    started = time.monotonic()
    step = build()
    torch.cuda.synchronize()
    found["built"] = _peaks() | {
        "allocated": torch.cuda.memory_allocated(),
        "seconds": time.monotonic() - started,
    }
    found["marks"] = [_events()]
    found["steps"] = []
    for _ in range(3):
        torch.cuda.reset_peak_memory_stats()
        step()
        torch.cuda.synchronize()
        found["steps"].append(_peaks())
        found["marks"].append(_events())
    found["device_used"], found["reserved_then"] = used(), torch.cuda.memory_reserved()
    found["outside"] = found["device_used"] - found["reserved_then"]
    found["peak_allocated"] = max(peak["allocated_peak"] for peak in [found["built"], *found["steps"]])
    found["peak_reserved"] = max(peak["reserved_peak"] for peak in [found["built"], *found["steps"]])
    found["history"] = _history()
    torch.cuda.memory._record_memory_history(enabled=None)
    found["seconds"] = _timed(step)
    if annotate and not configuration.is_compiled:
        found["inside"] = _annotated(step)
    found["outside_after"] = used() - torch.cuda.memory_reserved()
    return found


def _peaks() -> dict[str, int]:
    return {
        "allocated_peak": torch.cuda.max_memory_allocated(),
        "reserved_peak": torch.cuda.max_memory_reserved(),
        "reserved": torch.cuda.memory_reserved(),
    }


def block_counts() -> tuple[int, int]:
    """How many blocks were ever made and freed."""
    every = torch._C._cuda_memoryStats(0)["allocation"]["all"]
    return every["allocated"], every["freed"]


def _events() -> list[int]:
    return list(block_counts())


def _history() -> list[list[int]]:
    """Every block made (+size) and freed (-number of the block), with the stream where it is not the default."""
    numbers: dict[int, int] = {}
    told: list[list[int]] = []
    made = 0
    for entry in torch.cuda.memory._snapshot()["device_traces"][0]:
        if entry["action"] == MADE:
            made += 1
            numbers[entry["addr"]] = made
            told.append([entry["size"], entry["stream"]] if entry["stream"] else [entry["size"]])
        elif entry["action"] == FREED:
            told.append([-numbers.pop(entry["addr"], 0)])
        elif entry["action"].startswith("segment"):
            told.append([0, SEGMENTS[entry["action"]], entry["size"], entry["addr"] >> 9])
    return told


def _timed(step: Any) -> dict[str, float]:
    """Median of five synchronised steps after three warm ones, and what the CPU needs to launch one."""
    for _ in range(3):
        step()
    torch.cuda.synchronize()
    times, launches = [], []
    for _ in range(5):
        started = time.perf_counter()
        step()
        launched = time.perf_counter()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - started)
        launches.append(launched - started)
    return {
        "median": statistics.median(times), "least": min(times), "most": max(times),
        "launch": statistics.median(launches),
    }  # fmt: skip


class Annotating(TorchDispatchMode):
    """Notes the allocator's counters around every operation."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[str, Any, tuple[int, int], tuple[int, int]]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        before = block_counts()
        answer = func(*args, **(kwargs or {}))
        self.seen.append((str(func), _signature(args, kwargs), before, block_counts()))
        return answer


def _signature(args: Any, kwargs: Any) -> Any:
    """Shapes, strides and types of the tensors, and the plain values, in order."""
    told: list[Any] = []
    for leaf in tree_leaves((args, kwargs))[:24]:
        if isinstance(leaf, torch.Tensor):
            told.append([list(leaf.shape), list(leaf.stride()), str(leaf.dtype)[6:], leaf.device.type])
        elif isinstance(leaf, (int, float, bool, str)) or leaf is None:
            told.append(leaf)
        else:
            told.append(str(leaf))
    return told


def _annotated(step: Any) -> list[Any]:
    """Distinct operations with what they allocate: sizes in order, negative where freed before the end."""
    gc.collect()
    torch.cuda.memory._record_memory_history(max_entries=2_000_000, context=None)
    made_before, freed_before = block_counts()
    mode = Annotating()
    with mode:
        step()
    sizes, frees = made_and_freed()
    torch.cuda.memory._record_memory_history(enabled=None)
    distinct: dict[str, list[Any]] = {}
    for name, signature, begin, end in mode.seen:
        made = range(begin[0] - made_before, end[0] - made_before)
        gone = set(frees[begin[1] - freed_before : end[1] - freed_before])
        allocated = [-sizes[number] if number in gone else sizes[number] for number in made]
        if not any(size < 0 for size in allocated) and "convolution" not in name and "attention" not in name:
            continue
        key = json.dumps([name, signature, allocated])
        distinct.setdefault(key, [name, signature, allocated, 0])[3] += 1
    return list(distinct.values())


def made_and_freed() -> tuple[list[int], list[int]]:
    sizes: list[int] = []
    frees: list[int] = []
    numbers: dict[int, int] = {}
    for entry in torch.cuda.memory._snapshot()["device_traces"][0]:
        if entry["action"] == MADE:
            numbers[entry["addr"]] = len(sizes)
            sizes.append(entry["size"])
        elif entry["action"] == FREED:
            frees.append(numbers.pop(entry["addr"], -1))
    return sizes, frees


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--limit", type=float, default=480)
    parser.add_argument("--no-annotations", action="store_true")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    chosen = [c for c in configurations() if not options.names or c.name in options.names]
    for configuration in chosen:
        load(configuration)  # imports once, before any fork
    preload()
    started = time.monotonic()
    results: list[dict[str, Any]] = []
    for configuration in sorted(chosen, key=lambda c: c.is_compiled):
        if time.monotonic() - started > options.limit:
            print("out of time before", configuration.name)
            break
        found = alone(measure_with(options), configuration)
        found["configuration"] = configuration.name
        results.append(found)
        print(_line(found), f"{time.monotonic() - started:.0f} s", flush=True)
        if len(results) % 8 == 0:
            _save(results, options.out)
    _save(results, options.out)


def preload() -> None:
    """Import what models import late, so that every child finds it imported: all that step files name."""
    import transformers

    for file in STEPS.glob("*.py"):
        for name in set(re.findall(r"transformers\.(\w+)", file.read_text())):
            getattr(transformers, name, None)


def measure_with(options: argparse.Namespace) -> Any:
    def function(configuration: Configuration) -> dict[str, Any]:
        return measure(configuration, annotate=not options.no_annotations)

    return function


def _line(found: dict[str, Any]) -> str:
    if "error" in found:
        return f"{found['configuration']:36s} {found['error'][:160]}"
    megabyte = 1 << 20
    return (
        f"{found['configuration']:36s} allocated {found['peak_allocated'] / megabyte:9.1f}"
        f" reserved {found['peak_reserved'] / megabyte:8.0f} outside {found['outside'] / megabyte:5.0f}"
        f" step {found['seconds']['median']:.4f} s (launch {found['seconds']['launch']:.4f})"
    )


def _save(results: list[dict[str, Any]], folder: Path) -> None:
    versions = {"torch": torch.__version__, "cuda": torch.version.cuda, "python": sys.version.split()[0]}
    for part in range(PARTS):
        with gzip.open(folder / f"histories-{part}.json.gz", "wt", compresslevel=6) as stream:
            json.dump({"versions": versions, "results": results[part::PARTS]}, stream, separators=(",", ":"))


if __name__ == "__main__":
    main()
