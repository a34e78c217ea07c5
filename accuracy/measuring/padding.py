"""Which matrix products Inductor pads on this device: torch's own decision, with both times it took.

Run on a machine with a GPU:  python -m accuracy.measuring.padding --out FOLDER [--limit SECONDS]

Padding is decided by timing (`torch._inductor.fx_passes.pad_mm`), so no rule can be read off the source. The sweep asks
torch's own function about the products a linear layer has (forward, gradient of the input, gradient of the weight),
with vocabularies, widths and numbers of tokens that no tensor core likes, in an order that leaves a fair sample when
time runs out. Nothing else may run on the device meanwhile.
"""

from __future__ import annotations

import argparse
import inspect
import json
import os
import random
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import torch

HALF, BRAIN, FULL = torch.float16, torch.bfloat16, torch.float32
LARGEST = {HALF: 9e12, BRAIN: 9e12, FULL: 4e11}
"""Products of more multiplications take too long to ask about."""


class Case(NamedTuple):
    """One product `[m, k] @ [k, n]`: which factors are transposed views, which were made by fused kernels."""

    label: str
    operation: str
    batch: int
    m: int
    k: int
    n: int
    dtype: torch.dtype
    transposed: tuple[bool, bool]
    is_made: tuple[bool, bool]


def layer(label: str, tokens: int, inside: int, outside: int, dtype: torch.dtype) -> Iterator[Case]:
    """The products of a linear layer, with weights kept in this type and cast to it."""
    yield Case(f"{label} forward", "mm", 0, tokens, inside, outside, dtype, (False, True), (True, False))
    yield Case(f"{label} biased", "addmm", 0, tokens, inside, outside, dtype, (False, True), (True, False))
    yield Case(f"{label} input", "mm", 0, tokens, outside, inside, dtype, (False, False), (True, False))
    yield Case(f"{label} input cast", "mm", 0, tokens, outside, inside, dtype, (False, False), (True, True))
    yield Case(f"{label} weight", "mm", 0, outside, tokens, inside, dtype, (True, False), (False, True))


def attention(length: int, width: int, heads: int, dtype: torch.dtype) -> Iterator[Case]:
    """Scores and values as separate products."""
    yield Case("scores", "bmm", heads, length, width, length, dtype, (False, True), (True, True))
    yield Case("values", "bmm", heads, length, length, width, dtype, (False, False), (True, True))
    yield Case("keys' gradient", "bmm", heads, width, length, length, dtype, (True, False), (True, True))


def cases(seed: int = 1) -> list[Case]:
    found: list[Case] = []
    for words in (30522, 50257, 28996, 51865):
        for width in (512, 768, 1024, 2048, 4096):
            for tokens in (512, 1024, 2048, 4096, 8192, 16384):
                found += layer("head", tokens, width, words, BRAIN)
    for words, width, tokens in (
        (30522, 768, 4096),
        (50257, 768, 8192),
        (50265, 1024, 2048),
        (30522, 1024, 16384),
    ):
        found += layer("head", tokens, width, words, HALF)
    for words in (30522, 50257, 51865):
        for width in (512, 768, 1024):
            for tokens in (512, 1024, 2048, 4096, 8192):
                found += layer("head", tokens, width, words, FULL)
    for tokens in (777, 1023, 1182, 2046, 4092, 12610):
        for inside, outside in (
            (768, 3072),
            (3072, 768),
            (1024, 4096),
            (2048, 8192),
            (4096, 4096),
            (4096, 11008),
        ):
            found += layer("tokens", tokens, inside, outside, BRAIN)
            if outside < 4096:
                found += layer("tokens", tokens, inside, outside, FULL)
    for width in (300, 1500, 2050):
        for tokens in (2048, 8192):
            found += layer("width", tokens, width, 4 * width, BRAIN)
            found += layer("width", tokens, width, 4 * width, FULL)
    for length in (77, 197, 257, 577, 1023):
        for width in (64, 80, 128):
            for dtype in (BRAIN, FULL):
                found += attention(length, width, 96, dtype)
    chosen = [
        case
        for case in dict.fromkeys(found)
        if case.m * case.k * case.n * max(1, case.batch) <= LARGEST[case.dtype]
    ]
    random.Random(seed).shuffle(chosen)
    return chosen


def asked(case: Case) -> dict[str, Any]:
    """Torch's decision about one product."""
    from torch._inductor.fx_passes import pad_mm

    times: dict[str, float] = {}
    decide = pad_mm.is_padded_faster

    def noted(key: str, ori_time: float, pad_time: float) -> bool:
        times.update(plain_ms=ori_time, padded_ms=pad_time)
        return bool(decide(key, ori_time, pad_time))

    torch.cuda.reset_peak_memory_stats()
    first = _matrix(case, case.m, case.k, case.transposed[0])
    second = _matrix(case, case.k, case.n, case.transposed[1])
    added = torch.empty(case.n, dtype=case.dtype, device="cuda") if case.operation == "addmm" else None
    match = SimpleNamespace(
        kwargs={"mat1": _node(first, case.is_made[0]), "mat2": _node(second, case.is_made[1])}
    )
    pad_mm.is_padded_faster = noted
    try:
        function = inspect.unwrap(pad_mm._should_pad)
        answer = bool(function(match, first, second, getattr(torch.ops.aten, case.operation), added))
    finally:
        pad_mm.is_padded_faster = decide
    told = case._asdict() | {"dtype": str(case.dtype)[6:]}
    return told | times | {"padded": answer, "peak": torch.cuda.max_memory_allocated()}


def _matrix(case: Case, rows: int, columns: int, transposed: bool) -> torch.Tensor:
    sizes = (case.batch,) if case.batch else ()
    if transposed:
        return torch.empty(*sizes, columns, rows, dtype=case.dtype, device="cuda").transpose(-1, -2)
    return torch.empty(*sizes, rows, columns, dtype=case.dtype, device="cuda")


def _node(value: torch.Tensor, is_made: bool) -> Any:
    """What the decision asks of a graph's node: who made it."""
    return SimpleNamespace(
        op="call_function" if is_made else "placeholder",
        target=torch.ops.aten.add.Tensor,
        meta={"val": value},
        all_input_nodes=(),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--limit", type=float, default=100)
    options = parser.parse_args()
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = tempfile.mkdtemp()
    started = time.monotonic()
    told: list[dict[str, Any]] = []
    for number, case in enumerate(every := cases()):
        if time.monotonic() - started > options.limit:
            break
        try:
            told.append(asked(case))
        except Exception as failure:
            print(case, f"{type(failure).__name__}: {failure}"[:200], flush=True)
        if number % 100 == 0:
            (options.out / "padding.json").write_text(json.dumps(told))
            print(number, f"{time.monotonic() - started:.0f} s", flush=True)
    (options.out / "padding.json").write_text(json.dumps(told))
    print(f"{len(told)} of {len(every)} in {time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    main()
