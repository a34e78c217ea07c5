"""The allocator's own history with real addresses, under several settings and under a tight cap.

Run on a machine with a GPU:  python -m accuracy.measuring.allocators --out FOLDER

The allocator model must reproduce these to the byte; how freed device memory is handed out again, and how cuBLAS
places its workspaces, is visible nowhere else.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
from pathlib import Path
from typing import Any

import torch
from torch.nn import functional as F

from accuracy.catalogue import Configuration, configurations
from accuracy.measuring.children import alone
from accuracy.measuring.histories import load, used

PLAIN = (
    "gpt_small_amp", "llama_1b_amp_recompute_accumulated", "resnet50_fp32", "hf_t5_small_amp_adafactor",
)  # fmt: skip
SETTINGS = (
    "expandable_segments:True", "roundup_power2_divisions:4,max_split_size_mb:256", "garbage_collection_threshold:0.6",
)  # fmt: skip


def recorded(
    configuration: Configuration, settings: str, fraction: float | None, steps: int = 3
) -> dict[str, Any]:
    """Every allocator event of build and steps, with addresses."""
    if settings:
        torch._C._accelerator_setAllocatorSettings(settings)
    total = torch.cuda.get_device_properties(0).total_memory
    if fraction is not None:
        torch.cuda.set_per_process_memory_fraction(fraction)
    torch.cuda.memory._record_memory_history(max_entries=2_000_000, context=None)
    error = None
    try:
        step = load(configuration)()
        for _ in range(steps):
            step()
        torch.cuda.synchronize()
    except torch.cuda.OutOfMemoryError as failure:
        error = str(failure)[:400]
    snapshot = torch.cuda.memory._snapshot()
    stats = torch.cuda.memory_stats()
    events = [[e["action"], e.get("addr", 0), e["size"], e["stream"]] for e in snapshot["device_traces"][0]]
    return {
        "name": configuration.name, "torch": torch.__version__, "gpu": torch.cuda.get_device_name(),
        "settings": {"PYTORCH_CUDA_ALLOC_CONF": settings}, "error": error,
        "limit": None if fraction is None else int(fraction * total), "events": events,
        "peak_allocated": stats["allocated_bytes.all.peak"], "peak_reserved": stats["reserved_bytes.all.peak"],
        "retries": stats["num_alloc_retries"],
    }  # fmt: skip


def libraries() -> dict[str, Any]:
    """What the first use of each library takes inside and outside the allocator."""
    told: dict[str, Any] = {}
    torch.zeros(1, device="cuda")

    def note(name: str) -> None:
        torch.cuda.synchronize()
        told[name] = [
            used() - torch.cuda.memory_reserved(),
            torch.cuda.memory_allocated(),
            torch.cuda.memory_reserved(),
        ]

    note("context")
    a = torch.randn(512, 512, device="cuda")
    note("randn")
    a @ a
    note("mm fp32")
    b = a.bfloat16()
    b @ b
    note("mm bf16")
    F.linear(b, b, b[0])
    note("addmm bf16")
    torch.bmm(b[None], b[None])
    note("bmm")
    leaf = b.clone().requires_grad_()
    (leaf @ b).sum().backward()
    note("mm in autograd's thread")
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        b @ b
    note("mm on a side stream")
    x, w = (
        torch.randn(8, 3, 64, 64, device="cuda"),
        torch.randn(8, 3, 3, 3, device="cuda", requires_grad=True),
    )
    F.conv2d(x, w).sum().backward()
    note("conv fp32")
    q = torch.randn(2, 8, 256, 64, device="cuda", dtype=torch.bfloat16, requires_grad=True)
    F.scaled_dot_product_attention(q, q, q, is_causal=True).sum().backward()
    note("sdpa cudnn")
    f = torch.randn(2, 8, 256, 64, device="cuda", requires_grad=True)
    F.scaled_dot_product_attention(f, f, f).sum().backward()
    note("sdpa efficient")
    torch.optim.AdamW([w], fused=True).step()
    note("fused adamw")
    torch.compile(lambda t: (t.sin() * t.cos()).sum(-1))(a)
    note("compiled")
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29511")
    torch.distributed.init_process_group("nccl", rank=0, world_size=1)
    torch.distributed.all_reduce(a)
    note("nccl, one rank")
    torch.distributed.all_reduce(a, group=torch.distributed.new_group([0]))
    note("nccl, second group")
    torch.distributed.destroy_process_group()
    return told


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    known = {c.name: c for c in configurations()}
    for name in PLAIN:
        load(known[name])
    total = 143_155.9 * 2**20
    results: list[dict[str, Any]] = []

    def note(name: str, settings: str, cap: float | None) -> dict[str, Any]:
        result: dict[str, Any] = alone(recorded, known[name], settings, cap and cap / total)
        print({key: value for key, value in result.items() if key != "events"}, flush=True)
        results.append(result)
        return result

    for name in PLAIN:
        plain = note(name, "", None)
        slack = plain["peak_reserved"] - plain["peak_allocated"]
        note(name, "", plain["peak_allocated"] + 0.9 * slack)
        note(name, "", plain["peak_allocated"] + 0.6 * slack)
    for settings in SETTINGS:
        note(PLAIN[0], settings, None)
    note(PLAIN[0], SETTINGS[0], 0.98 * results[0]["peak_reserved"])
    found = alone(libraries)
    print(found)
    results = [result for result in results if "events" in result]
    with gzip.open(options.out / "allocators.json.gz", "wt") as stream:
        json.dump({"results": results, "libraries": found}, stream, separators=(",", ":"))


if __name__ == "__main__":
    main()
