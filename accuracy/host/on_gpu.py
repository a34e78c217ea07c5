"""Host memory of a rank that has a GPU: what CUDA, its libraries, NCCL, pinned memory and saving add.

    PYTHON accuracy/host/on_gpu.py > on_gpu.json        (about a minute on one GPU; torch and the standard library)

Figures are the kernel's own for this process and its children: anonymous and shared-memory pages cannot be
reclaimed, file pages (the libraries themselves) can. Pinned memory appears as shared memory or not at all,
depending on the driver, so the machine's own `MemAvailable` is read beside it.
"""

from __future__ import annotations

import importlib
import json
import os
import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

MIB = 1024**2
_FIELDS = ("RssAnon", "RssFile", "RssShmem", "VmHWM", "VmLck", "VmPin")


def held(pid: int | str = "self") -> dict[str, int]:
    """What the kernel says this process holds, in bytes."""
    found = {}
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        name, _, value = line.partition(":")
        if name in _FIELDS:
            found[name] = int(value.split()[0]) * 1024
    for line in Path("/proc/meminfo").read_text().splitlines():
        if pid == "self" and line.startswith("MemAvailable"):
            found["machine_available"] = int(line.split()[1]) * 1024
    return found


def children() -> list[dict[str, int]]:
    """The same for every process below this one."""
    parents = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                parents[int(folder.name)] = int(
                    folder.joinpath("stat").read_text().rpartition(")")[2].split()[1]
                )
            except (OSError, IndexError):
                continue
    below, found = {os.getpid()}, []
    for _ in range(4):
        below |= {pid for pid, parent in parents.items() if parent in below}
    for pid in below - {os.getpid()}:
        try:
            found.append(held(pid))
        except OSError:
            continue
    return found


def peak_while(action: Callable[[], Any]) -> dict[str, int]:
    """The most anonymous and shared memory held while something runs, from samples 2 ms apart."""
    most, done = {"RssAnon": 0, "RssShmem": 0, "sum": 0}, threading.Event()

    def sample() -> None:
        while not done.wait(0.002):
            now = held()
            for name in ("RssAnon", "RssShmem"):
                most[name] = max(most[name], now[name])
            most["sum"] = max(most["sum"], now["RssAnon"] + now["RssShmem"])

    watcher = threading.Thread(target=sample, daemon=True)
    watcher.start()
    action()
    done.set()
    watcher.join()
    return most


def main() -> None:
    marks: dict[str, Any] = {"python": held()}
    import torch

    marks["torch"] = held()
    x = torch.zeros(1024, device="cuda")
    marks["cuda context"] = held()
    a = torch.randn(1024, 1024, device="cuda")
    (a @ a).sum().item()
    marks["matmul"] = held()
    torch.nn.functional.conv2d(
        torch.randn(4, 3, 64, 64, device="cuda"), torch.randn(8, 3, 3, 3, device="cuda")
    )
    q = torch.randn(2, 4, 128, 64, device="cuda", dtype=torch.bfloat16)
    torch.nn.functional.scaled_dot_product_attention(q, q, q, is_causal=True).sum().item()
    marks["convolution and attention"] = held()
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29511", "RANK": "0", "WORLD_SIZE": "1"}
    torch.distributed.init_process_group("nccl", device_id=torch.device("cuda", 0))
    torch.distributed.all_reduce(x)
    torch.cuda.synchronize()
    marks["nccl"] = held()
    kept = []
    for mib in (1, 33, 64, 129):
        kept.append(torch.empty(mib * MIB, dtype=torch.uint8, pin_memory=True).fill_(1))
        marks[f"pinned {mib} MiB"] = held()
    del kept
    marks["pinned freed"] = held()
    marks |= _saving(torch)
    marks |= _compiling(torch)
    report = {"torch": torch.__version__, "gpu": torch.cuda.get_device_name(), "cores": os.cpu_count()}
    report["machine_kib"] = Path("/proc/meminfo").read_text().splitlines()[0]
    print(json.dumps(report | {"marks": marks}, indent=1))
    torch.distributed.destroy_process_group()


def _saving(torch: Any) -> dict[str, Any]:
    """512 MiB on the GPU in 16 tensors, written in three ways."""
    import torch.distributed.checkpoint as dcp

    state = {f"w{i}": torch.full((8 * MIB,), 1.0, device="cuda") for i in range(16)}
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, action in {
            "torch.save": lambda: torch.save(state, f"{folder}/a.pt"),
            "dcp.save": lambda: dcp.save(state, checkpoint_id=f"{folder}/b"),
            "state to cpu": lambda: [value.cpu() for value in list(state.values())],
        }.items():
            before = held()
            found[f"saving {name}"] = {"before": before, "peak": peak_while(action), "after": held()}
        for turn in (1, 2):
            before = held()
            peak = peak_while(partial(_save_behind, dcp, state, f"{folder}/c{turn}"))
            found[f"saving dcp.async_save {turn}"] = {"before": before, "peak": peak, "after": held()}
    return found


def _save_behind(dcp: Any, state: dict[str, Any], target: str) -> None:
    """Save while training could go on, and wait for its end."""
    group = importlib.import_module("torch.distributed").new_group(backend="gloo")
    dcp.async_save(state, checkpoint_id=target, process_group=group).result()


def _compiling(torch: Any) -> dict[str, Any]:
    """A compiled model: what the process grows by, and the worker processes beside it."""
    before = held()
    model = torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.GELU(), torch.nn.LayerNorm(512)).cuda()
    compiled = torch.compile(model)
    most: list[dict[str, int]] = []

    def run() -> None:
        compiled(torch.randn(64, 512, device="cuda")).sum().backward()

    watcher_done = threading.Event()

    def look() -> None:
        nonlocal most
        while not watcher_done.wait(0.1):
            now = children()
            if sum(c.get("RssAnon", 0) for c in now) > sum(c.get("RssAnon", 0) for c in most):
                most = now

    watcher = threading.Thread(target=look, daemon=True)
    watcher.start()
    run()
    time.sleep(0.5)
    watcher_done.set()
    watcher.join()
    from torch._inductor import config

    return {
        "compiled": {
            "before": before,
            "after": held(),
            "compile_threads": config.compile_threads,
            "children": most,
        }
    }


if __name__ == "__main__":
    main()
