"""Rows reduced and scaled: norms, softmax, the loss over a vocabulary, pooling and resizing, with gradients."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import torch

from accuracy.timing.cases import Case, tensor

aten = torch.ops.aten
BF16, FP32 = torch.bfloat16, torch.float32

ROWS = [
    (64, 768),
    (1024, 768),
    (2048, 2048),
    (8192, 768),
    (8192, 4096),
    (12608, 1024),
    (16384, 896),
    (32768, 2048),
]
IMAGES = [
    (8, 64, 112, 112),
    (64, 64, 56, 56),
    (128, 256, 56, 56),
    (128, 512, 28, 28),
    (64, 1024, 14, 14),
    (256, 2048, 7, 7),
    (32, 24, 112, 112),
]
LOGITS = [
    (64, 1000),
    (4096, 1000),
    (2048, 32000),
    (8192, 32000),
    (8192, 50257),
    (16384, 50304),
    (8192, 151936),
]


def norm_cases(device: str) -> Iterator[Case]:
    """About 260 operations."""
    for (rows, width), dtype in ((shape, kind) for shape in ROWS for kind in (BF16, FP32)):
        yield from _row_norms(rows, width, dtype, device)
    for shape, dtype in ((shape, kind) for shape in IMAGES for kind in (BF16, FP32)):
        for last in (False, True):
            yield from _image_norms(shape, dtype, device, last=last)
            yield from _pools(shape, dtype, device, last=last)
    for (rows, words), dtype in ((shape, kind) for shape in LOGITS for kind in (BF16, FP32)):
        yield from _losses(rows, words, dtype, device)
    for heads, length in [
        (96, 128),
        (96, 197),
        (48, 512),
        (96, 512),
        (64, 1024),
        (96, 1024),
        (32, 2048),
        (2048, 49),
    ]:
        for dtype in (BF16, FP32):
            make = partial(tensor, (heads, length, length), dtype, device)
            yield Case("norms", aten._softmax.default, lambda m=make: (m(), -1, False))
            yield Case(
                "norms", aten._softmax_backward_data.default, lambda m=make, d=dtype: (m(), m(), -1, d)
            )


def _row_norms(rows: int, width: int, dtype: torch.dtype, device: str) -> Iterator[Case]:
    make = partial(tensor, (rows, width), dtype, device)
    scale = partial(tensor, (width,), dtype, device)
    column = partial(tensor, (rows, 1), FP32, device)
    yield Case("norms", aten.native_layer_norm.default, lambda: (make(), [width], scale(), scale(), 1e-5))
    yield Case(
        "norms",
        aten.native_layer_norm_backward.default,
        lambda: (make(), make(), [width], column(), column(), scale(), scale(), [True, True, True]),
    )
    yield Case("norms", aten._fused_rms_norm.default, lambda: (make(), [width], scale(), 1e-5))
    yield Case(
        "norms",
        aten._fused_rms_norm_backward.default,
        lambda: (make(), make(), [width], column(), scale(), [True, True]),
    )


def _image_norms(shape: Any, dtype: torch.dtype, device: str, *, last: bool) -> Iterator[Case]:
    channels = shape[1]
    cudnn_dtype = torch.float16 if dtype is BF16 else dtype  # cuDNN's takes fp32 statistics beside fp16 only

    def image(dtype: torch.dtype = dtype) -> torch.Tensor:
        made = tensor(shape, dtype, device)
        return made.to(memory_format=torch.channels_last) if last else made

    one = partial(tensor, (channels,), FP32, device)
    train = (True, 0.1, 1e-5)
    batch_norm = aten.cudnn_batch_norm.default
    yield Case("norms", batch_norm, lambda: (image(cudnn_dtype), one(), one(), one(), one(), *train))
    yield Case("norms", aten.native_batch_norm.default, lambda: (image(), one(), one(), one(), one(), *train))

    def back() -> tuple[Any, ...]:
        x = image(cudnn_dtype)
        w = one()
        _, mean, variance, reserve = batch_norm(x, w, one(), one(), one(), *train)
        return x, image(cudnn_dtype), w, one(), one(), mean, variance, 1e-5, reserve

    yield Case("norms", aten.cudnn_batch_norm_backward.default, back)
    yield Case(
        "norms",
        aten.native_batch_norm_backward.default,
        lambda: (image(), image(), one(), one(), one(), one(), one(), True, 1e-5, [True, True, True]),
    )
    if channels % 32 == 0 and not last:
        n, c, h, w = shape
        half = partial(tensor, (c,), dtype, device)
        groups = partial(tensor, (n, 32), dtype, device)
        yield Case(
            "norms", aten.native_group_norm.default, lambda: (image(), half(), half(), n, c, h * w, 32, 1e-5)
        )
        yield Case(
            "norms",
            aten.native_group_norm_backward.default,
            lambda: (image(), image(), groups(), groups(), half(), n, c, h * w, 32, [True, True, True]),
        )


def _pools(shape: Any, dtype: torch.dtype, device: str, *, last: bool) -> Iterator[Case]:
    def image() -> torch.Tensor:
        made = tensor(shape, dtype, device)
        return made.to(memory_format=torch.channels_last) if last else made

    window = ([3, 3], [2, 2], [1, 1], [1, 1], False)

    def back() -> tuple[Any, ...]:
        x = image()
        out, indices = aten.max_pool2d_with_indices.default(x, *window)
        return torch.randn_like(out), x, *window, indices

    yield Case("norms", aten.max_pool2d_with_indices.default, lambda: (image(), *window))
    yield Case("norms", aten.max_pool2d_with_indices_backward.default, back)
    yield Case("norms", aten.avg_pool2d.default, lambda: (image(), [2, 2], [2, 2]))
    if shape[2] <= 28:
        size = [2 * shape[2], 2 * shape[3]]
        yield Case("norms", aten.upsample_nearest2d.default, lambda: (image(), size))
        yield Case("norms", aten.upsample_bilinear2d.default, lambda: (image(), size, False))


def _losses(rows: int, words: int, dtype: torch.dtype, device: str) -> Iterator[Case]:
    make = partial(tensor, (rows, words), dtype, device)

    def target() -> torch.Tensor:
        return torch.randint(0, words, (rows,), device=device)

    yield Case("norms", aten._log_softmax.default, lambda: (make(), 1, False))
    yield Case("norms", aten._log_softmax_backward_data.default, lambda: (make(), make(), 1, dtype))
    yield Case("norms", aten.nll_loss_forward.default, lambda: (make(), target(), None, 1, -100))
    yield Case(
        "norms",
        aten.nll_loss_backward.default,
        lambda: (tensor((), dtype, device), make(), target(), None, 1, -100, tensor((), dtype, device)),
    )
