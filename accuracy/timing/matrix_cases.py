"""Matrix products: the three that every linear layer makes, in the layouts autograd gives them, and batches.

A layer `out x in` on `tokens` rows makes `x @ W.t()` (forward), `g @ W` (gradient of the input) and `g.t() @ x`
(gradient of the weight). Shapes are drawn from the widths that published models have, and some that nobody has.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import partial
from typing import Any

import torch

from accuracy.timing.cases import Case, tensor

aten = torch.ops.aten

WIDTHS = [192, 256, 320, 384, 512, 640, 768, 896, 1024, 1152, 1280, 1536, 2048, 2560, 3072, 4096, 5120, 5632]
WIDER = [1000, 1408, 2304, 3584, 4864, 6144, 8192, 11008, 14336, 30522, 32000, 32128, 50257, 50304, 151936]
TOKENS = [1, 8, 64, 197, 256, 512, 1000, 1024, 1576, 2048, 3152, 4096, 6304, 8192, 12608, 16384, 25216, 32768]
ODD = [3, 17, 50, 77, 100, 127, 129, 333, 577, 1025, 4097]
RANKS = [4, 8, 16, 32, 64]


def matrix_cases(device: str) -> Iterator[Case]:
    """About 1,200 products."""
    draw = random.Random(7)
    layers = [_layer(draw) for _ in range(190)]
    for index, (tokens, wide, narrow) in enumerate(layers):
        for dtype, tf32, most in _arithmetic(index):
            if 2.0 * tokens * wide * narrow > most:
                continue
            yield from _linear(tokens, wide, narrow, dtype, device, tf32, biased=index % 3 == 0)
    yield from _batched(draw, device)
    yield from _cubes(device)


def _layer(draw: random.Random) -> tuple[int, int, int]:
    tokens = draw.choice(TOKENS[4:] * 3 + TOKENS + ODD)
    narrow = draw.choice(WIDTHS)
    wide = draw.choice([narrow, narrow, 3 * narrow, 4 * narrow, draw.choice(WIDTHS), draw.choice(WIDER)])
    if draw.random() < 0.12:
        wide = draw.choice(RANKS)
    if draw.random() < 0.06:
        narrow = draw.choice(ODD)
    return (tokens, wide, narrow) if draw.random() < 0.6 else (tokens, narrow, wide)


def _arithmetic(index: int) -> list[tuple[torch.dtype, bool, float]]:
    """bf16 always; the others for a part of the layers, and not where they would take too long."""
    chosen: list[tuple[torch.dtype, bool, float]] = [(torch.bfloat16, False, 1e13)]
    if index % 4 == 0:
        chosen.append((torch.float16, False, 4e12))
    if index % 2 == 0:
        chosen.append((torch.float32, False, 4e11))
    if index % 8 == 0:
        chosen.append((torch.float32, True, 2e12))
    return chosen


def _linear(
    tokens: int, wide: int, narrow: int, dtype: torch.dtype, device: str, tf32: bool, *, biased: bool
) -> Iterator[Case]:
    make = partial(tensor, dtype=dtype, device=device)

    def forward() -> tuple[Any, ...]:
        return make((tokens, narrow)), make((wide, narrow)).t()

    def forward_bias() -> tuple[Any, ...]:
        return make((wide,)), make((tokens, narrow)), make((wide, narrow)).t()

    def of_input() -> tuple[Any, ...]:
        return make((tokens, wide)), make((wide, narrow))

    def of_weight() -> tuple[Any, ...]:
        return make((tokens, wide)).t(), make((tokens, narrow))

    if biased:
        yield Case("matrix", aten.addmm.default, forward_bias, tf32=tf32)
    else:
        yield Case("matrix", aten.mm.default, forward, tf32=tf32)
    yield Case("matrix", aten.mm.default, of_input, tf32=tf32)
    yield Case("matrix", aten.mm.default, of_weight, tf32=tf32)


def _batched(draw: random.Random, device: str) -> Iterator[Case]:
    """Attention by hand (scores, weighted values and their gradients) and experts."""
    for index in range(60):
        dtype = torch.float32 if index % 3 == 0 else torch.bfloat16
        batch = draw.choice([8, 12, 16, 48, 96, 128, 192, 384])
        length = draw.choice([49, 64, 77, 128, 197, 256, 384, 512, 1024, 2048])
        head = draw.choice([32, 64, 64, 80, 128])
        if batch * length * length > 4e8:
            continue
        make = partial(tensor, dtype=dtype, device=device)

        def scores(make: Any = make, b: int = batch, s: int = length, d: int = head) -> tuple[Any, ...]:
            return make((b, s, d)), make((b, s, d)).transpose(1, 2)

        def values(make: Any = make, b: int = batch, s: int = length, d: int = head) -> tuple[Any, ...]:
            return make((b, s, s)), make((b, s, d))

        def back(make: Any = make, b: int = batch, s: int = length, d: int = head) -> tuple[Any, ...]:
            return make((b, s, s)).transpose(1, 2), make((b, s, d))

        for build in (scores, values, back):
            yield Case("matrix", aten.bmm.default, build)
    for experts, capacity, model, inner in [(8, 2560, 1024, 2816), (8, 640, 512, 2048), (16, 512, 768, 3072)]:
        for dtype in (torch.bfloat16, torch.float32):
            make = partial(tensor, dtype=dtype, device=device)

            def expert(
                make: Any = make, e: int = experts, c: int = capacity, d: int = model, f: int = inner
            ) -> tuple[Any, ...]:
                return make((e, c, d)), make((e, d, f))

            yield Case("matrix", aten.bmm.default, expert)
    yield from _grouped(device)


def _grouped(device: str) -> Iterator[Case]:
    """Experts with rows of their own number."""
    for experts, rows, model, inner in [(8, 16384, 1024, 2816), (8, 4096, 512, 1024), (16, 8192, 2048, 1408)]:

        def build(e: int = experts, n: int = rows, d: int = model, f: int = inner) -> tuple[Any, ...]:
            ends = torch.arange(1, e + 1, dtype=torch.int32, device=device) * (n // e)
            make = partial(tensor, dtype=torch.bfloat16, device=device)
            return make((n, d)), make((e, d, f)), ends

        def of_weight(e: int = experts, n: int = rows, d: int = model, f: int = inner) -> tuple[Any, ...]:
            ends = torch.arange(1, e + 1, dtype=torch.int32, device=device) * (n // e)
            make = partial(tensor, dtype=torch.bfloat16, device=device)
            return make((n, d)).t(), make((n, f)), ends

        yield Case("matrix", aten._grouped_mm.default, build)
        yield Case("matrix", aten._grouped_mm.default, of_weight)


def _cubes(device: str) -> Iterator[Case]:
    """The ceilings."""
    for side in (512, 1024, 2048, 4096, 8192):
        for dtype in (torch.bfloat16, torch.float16):
            make = partial(tensor, dtype=dtype, device=device)

            def cube(make: Any = make, n: int = side) -> tuple[Any, ...]:
                return make((n, n)), make((n, n))

            yield Case("matrix", aten.mm.default, cube)
