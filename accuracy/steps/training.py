"""The loop around a model: precision, optimizer, accumulation, clipping, as training scripts write it.

Every step file in this folder builds on `train`, so that the measured set varies one thing at a time: the
model, the precision, the optimizer, or a habit of the loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import nullcontext
from typing import Any

import torch
from torch import nn

Batch = tuple[Any, ...]
Step = Callable[[], None]

DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}


def parameter_dtype(precision: str) -> torch.dtype:
    """What the weights are kept in: fp32 under autocast, else the precision itself."""
    return torch.float32 if precision.startswith("amp") else DTYPES[precision]


def make_optimizer(name: str, parameters: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
    """The optimizer by the name Tonnage's documents use."""
    trained = [parameter for parameter in parameters if parameter.requires_grad]
    makers: dict[str, Callable[[], torch.optim.Optimizer]] = {
        "adamw": lambda: torch.optim.AdamW(trained, lr=1e-4),
        "adamw-fused": lambda: torch.optim.AdamW(trained, lr=1e-4, fused=True),
        "adamw-forloop": lambda: torch.optim.AdamW(trained, lr=1e-4, foreach=False),
        "adam": lambda: torch.optim.Adam(trained, lr=1e-4, weight_decay=0.01),
        "sgd": lambda: torch.optim.SGD(trained, lr=1e-3),
        "sgdm": lambda: torch.optim.SGD(trained, lr=1e-3, momentum=0.9, weight_decay=1e-4),
        "rmsprop": lambda: torch.optim.RMSprop(trained, lr=1e-4, momentum=0.9),
        "adafactor": lambda: torch.optim.Adafactor(trained, lr=1e-3),
    }
    return makers[name]()


def train(
    model: nn.Module,
    batch: Callable[[], Batch],
    loss_of: Callable[..., torch.Tensor],
    *,
    precision: str = "bf16",
    optimizer: str = "adamw",
    accumulation: int = 1,
    clip: float | None = 1.0,
    set_to_none: bool = True,
    keep_loss: bool = False,
    log: bool = False,
) -> Step:
    """One full optimizer step of `model` as a callable."""
    chosen = make_optimizer(optimizer, model.parameters())
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    half = {"amp-bf16": torch.bfloat16, "amp-fp16": torch.float16}.get(precision)
    scaler = torch.amp.GradScaler("cuda") if precision == "amp-fp16" else None
    kept: list[torch.Tensor] = []
    model.train()

    def step() -> None:
        for _ in range(accumulation):
            with torch.autocast("cuda", half) if half else nullcontext():
                loss = loss_of(*batch()) / accumulation
            (scaler.scale(loss) if scaler else loss).backward()
            if keep_loss:
                kept[:] = [loss]
            if log:
                float(loss.item())
        if scaler:
            scaler.unscale_(chosen)
        if clip is not None:
            nn.utils.clip_grad_norm_(trained, clip)
        if scaler:
            scaler.step(chosen)
            scaler.update()
        else:
            chosen.step()
        chosen.zero_grad(set_to_none=set_to_none)

    return step


def tokens(vocabulary: int, samples: int, length: int) -> Callable[[], Batch]:
    """Random token ids and labels, made on the device for every micro-batch."""

    def batch() -> Batch:
        ids = torch.randint(0, vocabulary, (samples, length), device="cuda")
        labels = torch.randint(0, vocabulary, (samples, length), device="cuda")
        return ids, labels

    return batch


def images(
    samples: int,
    pixels: int,
    classes: int = 1000,
    dtype: torch.dtype = torch.float32,
    *,
    channels_last: bool = False,
) -> Callable[[], Batch]:
    """Random images and class labels, made on the device for every micro-batch."""

    def batch() -> Batch:
        pictures = torch.randn(samples, 3, pixels, pixels, device="cuda", dtype=dtype)
        if channels_last:
            pictures = pictures.to(memory_format=torch.channels_last)
        return pictures, torch.randint(0, classes, (samples,), device="cuda")

    return batch
