"""Scaled dot-product attention as each fused kernel does it, forward and backward."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import torch

from accuracy.timing.cases import Case, tensor

aten = torch.ops.aten
BF16, FP16, FP32 = torch.bfloat16, torch.float16, torch.float32

LENGTHS = [50, 64, 128, 197, 256, 384, 512, 577, 1024, 1024, 1500, 2048, 2048, 4096, 8192]


def attention_cases(device: str) -> Iterator[Case]:
    """About 220 shapes, forward and backward."""
    draw = random.Random(11)
    for index in range(90):
        head = draw.choice([32, 64, 64, 64, 80, 96, 128, 128])
        length = draw.choice(LENGTHS)
        heads = draw.choice([6, 8, 12, 14, 16, 32])
        batch = draw.choice([1, 2, 4, 8, 16, 32, 64, 128])
        causal = draw.random() < 0.5
        cells = batch * heads * length * length
        if cells > 4e9 or batch * heads * length * head > 1.5e8:
            continue
        shape = (batch, length, heads, head)
        if index % 2 == 0:
            yield from _cudnn(shape, BF16 if index % 4 else FP16, device, causal)
        if index % 3 == 0:
            yield from _flash(shape, BF16 if index % 4 else FP16, device, causal)
        if index % 3 == 1 and cells < 6e8:
            yield from _efficient(shape, FP32, device, causal, masked=False)
        if index % 6 == 2 and cells < 3e8:
            yield from _efficient(shape, BF16, device, causal=False, masked=True)


def _heads(shape: Any, dtype: torch.dtype, device: str) -> torch.Tensor:
    """As linear layers leave it: batch, length, heads, width, seen with heads in front."""
    return tensor(shape, dtype, device).transpose(1, 2)


def _cudnn(shape: Any, dtype: torch.dtype, device: str, causal: bool) -> Iterator[Case]:
    forward = aten._scaled_dot_product_cudnn_attention.default

    def ahead() -> tuple[Any, ...]:
        q, k, v = (_heads(shape, dtype, device) for _ in range(3))
        return q, k, v, None, True, 0.0, causal

    def back() -> tuple[Any, ...]:
        q, k, v, *_ = ahead()
        out, lse, cq, ck, mq, mk, seed, offset, _ = forward(q, k, v, None, True, 0.0, causal)
        grad = _heads(shape, dtype, device)
        return grad, q, k, v, out, lse, seed, offset, None, cq, ck, mq, mk, 0.0, causal

    yield Case("attention", forward, ahead)
    yield Case("attention", aten._scaled_dot_product_cudnn_attention_backward.default, back)


def _flash(shape: Any, dtype: torch.dtype, device: str, causal: bool) -> Iterator[Case]:
    forward = aten._scaled_dot_product_flash_attention.default

    def ahead() -> tuple[Any, ...]:
        q, k, v = (_heads(shape, dtype, device) for _ in range(3))
        return q, k, v, 0.0, causal

    def back() -> tuple[Any, ...]:
        q, k, v, *_ = ahead()
        out, lse, cq, ck, mq, mk, seed, offset, _ = forward(q, k, v, 0.0, causal)
        return _heads(shape, dtype, device), q, k, v, out, lse, cq, ck, mq, mk, 0.0, causal, seed, offset

    yield Case("attention", forward, ahead)
    yield Case("attention", aten._scaled_dot_product_flash_attention_backward.default, back)


def _efficient(shape: Any, dtype: torch.dtype, device: str, causal: bool, *, masked: bool) -> Iterator[Case]:
    forward = aten._scaled_dot_product_efficient_attention.default
    batch, length, heads, _ = shape

    def bias() -> torch.Tensor | None:
        if not masked:
            return None
        wide = (length + 7) // 8 * 8
        return tensor((batch, 1, length, wide), dtype, device)[..., :length].expand(-1, heads, -1, -1)

    def ahead() -> tuple[Any, ...]:
        q, k, v = (_heads(shape, dtype, device) for _ in range(3))
        return q, k, v, bias(), True, 0.0, causal

    def back() -> tuple[Any, ...]:
        q, k, v, mask, *_ = ahead()
        out, lse, seed, offset = forward(q, k, v, mask, True, 0.0, causal)
        wanted = [True, True, True, False]
        return _heads(shape, dtype, device), q, k, v, mask, out, lse, seed, offset, 0.0, wanted, causal

    yield Case("attention", forward, ahead)
    yield Case("attention", aten._scaled_dot_product_efficient_attention_backward.default, back)
