"""Optimizer steps over many tensors at once, and copies between host and device."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import torch

from accuracy.timing.cases import Case, tensor

aten = torch.ops.aten
BF16, FP32 = torch.bfloat16, torch.float32

# What models consist of: a few large matrices and many small vectors.
MODELS: dict[str, list[tuple[int, ...]]] = {
    "one": [(4096, 4096)],
    "small": [(64, 64, 3, 3), (64,), (64,)] * 50,
    "gpt": [(50304, 768)] + [(768, 768), (3072, 768), (768, 3072), (768,), (768,)] * 12,
    "large": [(32000, 2048)] + [(2048, 2048), (5632, 2048), (2048, 5632), (2048,)] * 8,
    "lora": [(16, 2048), (2048, 16)] * 88,
}


def optimizer_cases(device: str) -> Iterator[Case]:
    """Every list operation that AdamW, SGD and clipping make, fused and not."""
    for shapes in MODELS.values():
        for dtype in (FP32, BF16):
            yield from _lists(shapes, dtype, device)
            yield from _fused(shapes, dtype, device)


def _lists(shapes: list[tuple[int, ...]], dtype: torch.dtype, device: str) -> Iterator[Case]:
    def many(count: int) -> tuple[Any, ...]:
        return tuple([tensor(shape, dtype, device).abs() for shape in shapes] for _ in range(count))

    case = partial(Case, "optimizer", kernels=40)
    yield case(aten._foreach_add_.List, lambda: many(2), {"alpha": -1e-3})
    yield case(aten._foreach_mul_.Scalar, lambda: (*many(1), 0.99))
    yield case(aten._foreach_lerp_.Scalar, lambda: (*many(2), 0.1))
    yield case(aten._foreach_addcmul_.Scalar, lambda: (*many(3), 0.001))
    yield case(aten._foreach_addcdiv_.Scalar, lambda: (*many(3), 0.001))
    yield case(aten._foreach_sqrt.default, lambda: many(1))
    yield case(aten._foreach_norm.Scalar, lambda: (*many(1), 2))
    yield case(aten._foreach_mul_.Tensor, lambda: (*many(1), torch.ones((), device=device)))
    if device == "cuda":
        yield case(
            aten._amp_foreach_non_finite_check_and_unscale_.default,
            lambda: (*many(1), torch.zeros((), device=device), torch.ones((), device=device)),
        )


def _fused(shapes: list[tuple[int, ...]], dtype: torch.dtype, device: str) -> Iterator[Case]:
    plain = {"lr": 1e-4, "beta1": 0.9, "beta2": 0.999, "weight_decay": 0.01, "eps": 1e-8}
    switches: dict[str, Any] = {"amsgrad": False, "maximize": False}

    def state() -> tuple[Any, ...]:
        lists = [[tensor(shape, dtype, device).abs() for shape in shapes] for _ in range(4)]
        steps = [torch.ones((), dtype=FP32, device=device) for _ in shapes]
        return (*lists, [], steps)

    yield Case("optimizer", aten._fused_adamw_.default, state, plain | switches, kernels=40)


def moving_cases(device: str) -> Iterator[Case]:
    """Host to device, pinned and not, and back."""
    for count in (2**8, 2**14, 2**18, 2**20, 2**22, 2**24, 2**26):
        for pinned in (False, True):

            def host(n: int = count, pinned: bool = pinned) -> torch.Tensor:
                made = torch.randn(n)
                return made.pin_memory() if pinned and device == "cuda" else made

            away = {"device": torch.device(device), "non_blocking": pinned}
            yield Case("moving", aten._to_copy.default, lambda f=host: (f(),), away)
        home = {"device": torch.device("cpu")}
        yield Case("moving", aten._to_copy.default, lambda n=count: (tensor((n,), FP32, device),), home)
    yield Case("moving", aten._local_scalar_dense.default, lambda: (tensor((), FP32, device),))
