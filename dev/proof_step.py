"""A small step with a bit of everything, traced with every supported torch by `dev/prove_torch.py`."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint


class Block(nn.Module):  # type: ignore[misc]
    """Attention and a feed-forward layer, recomputed in the backward pass."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm, self.mix, self.out = (
            nn.LayerNorm(width),
            nn.Linear(width, 3 * width),
            nn.Linear(width, width),
        )
        self.wide = nn.Sequential(
            nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, x: Any) -> Any:
        return checkpoint(self._forward, x, use_reentrant=False)

    def _forward(self, x: Any) -> Any:
        samples, length, width = x.shape
        query, key, value = (
            self.mix(self.norm(x)).view(samples, length, 3, width // 64, 64).permute(2, 0, 3, 1, 4)
        )
        attended = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.out(attended.transpose(1, 2).reshape(samples, length, width))
        return x + self.wide(x)


class Model(nn.Module):  # type: ignore[misc]
    """Patches of an image through transformer blocks to words whose weights are tied."""

    def __init__(self, width: int = 256, words: int = 1000) -> None:
        super().__init__()
        self.patches = nn.Sequential(nn.Conv2d(3, width, 8, stride=8), nn.BatchNorm2d(width))
        self.words = nn.Embedding(words, width)
        self.blocks = nn.Sequential(*(Block(width) for _ in range(2)))
        self.head = nn.Linear(width, words, bias=False)
        self.head.weight = self.words.weight

    def forward(self, images: Any, ids: Any) -> Any:
        seen = self.patches(images).flatten(2).transpose(1, 2)
        return self.head(self.blocks(torch.cat([seen, self.words(ids)], dim=1)))


def build(micro_batch: int = 4) -> Callable[[], None]:
    """fp16 autocast with a gradient scaler, clipping, accumulation over two micro-batches."""
    model = Model().to("cuda")
    return _training(model, model, micro_batch)


def build_compiled(micro_batch: int = 4) -> Callable[[], None]:
    """The same through torch.compile."""
    model = Model().to("cuda")
    return _training(model, torch.compile(model), micro_batch)


def build_sharded(micro_batch: int = 4) -> Callable[[], None]:
    """The same, its blocks sharded over all ranks."""
    from torch.distributed import init_process_group
    from torch.distributed.fsdp import fully_shard

    init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    model = Model().to("cuda")
    for block in model.blocks:
        fully_shard(block)
    fully_shard(model)
    return _training(model, model, micro_batch)


def _training(model: Any, called: Any, micro_batch: int) -> Callable[[], None]:
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scaler = torch.amp.GradScaler("cuda")
    images = torch.randn(micro_batch, 3, 64, 64, device="cuda")
    ids = torch.randint(0, 1000, (micro_batch, 64), device="cuda")

    def step() -> None:
        for _ in range(2):
            with torch.autocast("cuda", torch.float16):
                logits = called(images, ids)
                loss = functional.cross_entropy(logits.flatten(0, 1), torch.cat([ids, ids], dim=1).flatten())
            scaler.scale(loss / 2).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()

    return step
