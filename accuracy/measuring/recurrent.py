"""What cuDNN's recurrent layers keep and take inside: reserve space, workspaces, random state. And cuFFT's.

Run on a machine with a GPU:  python -m accuracy.measuring.recurrent --out FOLDER
"""

from __future__ import annotations

import argparse
import itertools
import json
from pathlib import Path
from typing import Any

import torch
from torch import nn

from accuracy.measuring.histories import made_and_freed

LAYERS = {"LSTM": nn.LSTM, "GRU": nn.GRU, "RNN": nn.RNN}
CASES = [
    *itertools.product(("LSTM", "GRU"), (1, 2, 3), (False, True), (0.0, 0.1), [(64, 256, 1024, 1024)], ("float32",)),
    *itertools.product(("LSTM", "GRU", "RNN"), (1, 2), (False, True), (0.0,),
                       [(32, 100, 256, 512), (128, 160, 512, 768), (16, 50, 300, 200)], ("float32", "float16")),
    *itertools.product(("LSTM", "GRU"), (2,), (False, True), (0.0, 0.3), [(48, 120, 384, 640)],
                       ("bfloat16", "float16")),
]  # fmt: skip


def taken(function: Any) -> tuple[list[int], Any]:
    """Blocks made inside, in order, negative where freed before the end; and the result.

    Not by a dispatch mode: cuDNN's recurrent layers do not return under one.
    """
    torch.cuda.memory._record_memory_history(max_entries=100_000, context=None)
    out = function()
    torch.cuda.synchronize()
    sizes, frees = made_and_freed()
    torch.cuda.memory._record_memory_history(enabled=None)
    gone = set(frees)
    return [-size if number in gone else size for number, size in enumerate(sizes)], out


def measured(kind: str, layers: int, both: bool, dropout: float, size: Any, dtype: str) -> dict[str, Any]:
    """One layer, forwards and backwards: results and temporaries of each call of cuDNN, in order."""
    batch, steps, inside, hidden = size
    made_as = getattr(torch, dtype)
    model = LAYERS[kind](
        inside, hidden, num_layers=layers, bidirectional=both, dropout=dropout, batch_first=True
    )
    model = model.to("cuda", made_as).train()
    for _ in range(2):
        x = torch.randn(batch, steps, inside, device="cuda", dtype=made_as, requires_grad=True)
        model(x)[0].sum().backward()
    torch.cuda.synchronize()
    told = {}
    with torch.no_grad():
        told["evaluated"] = taken(lambda: model.eval()(x))[0]
    model.train()
    told["forward"], kept = taken(lambda: model(x)[0])
    told["backward"], _ = taken(lambda: torch.autograd.backward(kept, torch.ones_like(kept)))
    weights = sum(p.numel() for p in model.parameters()) * made_as.itemsize
    return {
        "kind": kind, "layers": layers, "both": both, "dropout": dropout, "batch": batch, "steps": steps,
        "inside": inside, "hidden": hidden, "dtype": dtype, "weights": weights, "calls": told,
    }  # fmt: skip


def transformed(size: tuple[int, ...], kind: str) -> dict[str, Any]:
    """What one Fourier transform over the last two dimensions takes inside."""
    x = torch.randn(*size, device="cuda")
    if kind != "rfft2":
        x = torch.fft.rfft2(x) if kind == "irfft2" else x.to(torch.complex64)
    function = getattr(torch.fft, kind)
    function(x)
    torch.cuda.synchronize()
    torch.cuda.memory._record_memory_history(max_entries=100_000, context=None)
    out = function(x)
    torch.cuda.synchronize()
    sizes, _ = made_and_freed()
    torch.cuda.memory._record_memory_history(enabled=None)
    return {"fft": kind, "size": size, "out": out.numel() * out.element_size(), "made": sizes}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    found: list[dict[str, Any]] = []
    shapes = [(8, 32, 128, 128), (8, 32, 100, 120), (8, 32, 127, 131), (4, 16, 333, 500), (2, 8, 1024, 1024)]
    for size, kind in itertools.product(shapes, ("rfft2", "irfft2", "fft2")):
        found.append(transformed(size, kind))
        print(found[-1], flush=True)
    for case in CASES:
        found.append(measured(*case))
        print(found[-1], flush=True)
        (options.out / "recurrent.json").write_text(json.dumps(found))


if __name__ == "__main__":
    main()
