"""Steps that lean on the compiler or the allocator in ways the others do not.

Attention written as a function of scores, recorded CUDA graphs, gradients of a few rows, and an allocator that is
told what to do by the step's own file.
"""

from __future__ import annotations

import os
from typing import Any

import torch
from architectures import Decoder, Dimensions
from torch import nn
from torch.nn import functional as F
from training import Step, train

SMALL = Dimensions(32000, 768, 6, 12, 12, 2048)


def ids(samples: int, length: int, vocabulary: int = 32000) -> tuple[torch.Tensor, torch.Tensor]:
    made = torch.randint(0, vocabulary, (samples, length + 1), device="cuda")
    return made[:, :-1].contiguous(), made[:, 1:].contiguous()


class Windowed(nn.Module):
    """A block whose attention looks back over a window."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm, self.norm_after = nn.LayerNorm(width), nn.LayerNorm(width)
        self.mixed, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.hidden = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: torch.Tensor, attend: Any, mask: Any) -> torch.Tensor:
        samples, length, width = x.shape
        query, key, value = (
            part.view(samples, length, self.heads, -1).transpose(1, 2)
            for part in self.mixed(self.norm(x)).split(width, -1)
        )
        told = attend(query, key, value, block_mask=mask).transpose(1, 2).reshape(x.shape)
        x = x + self.out(told)
        return x + self.hidden(self.norm_after(x))


def fresh_flex_attention_compiled() -> Step:
    """`flex_attention` with a sliding window, compiled by itself as its documentation says."""
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    attend: Any = torch.compile(flex_attention)
    table = nn.Embedding(32000, 768)
    blocks = nn.ModuleList(Windowed(768, 12) for _ in range(4))
    model = nn.ModuleList((table, blocks, nn.LayerNorm(768), nn.Linear(768, 32000))).to(
        "cuda", torch.bfloat16
    )

    def near(_batch: Any, _head: Any, row: Any, column: Any) -> Any:
        return (row >= column) & (row - column <= 512)

    mask = create_block_mask(near, None, None, 2048, 2048, device="cuda")

    def loss_of(made: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        x = table(made)
        for block in blocks:
            x = block(x, attend, mask)
        return F.cross_entropy(model[3](model[2](x)).flatten(0, 1).float(), labels.flatten())

    return train(model, lambda: ids(4, 2048), loss_of, precision="bf16")


def fresh_cuda_graphs_compiled() -> Step:
    """`mode="reduce-overhead"`: forward and backward are recorded and replayed."""
    with torch.device("cuda"):
        model = Decoder(SMALL, 512)
    model = model.to(torch.bfloat16)
    called = torch.compile(model, mode="reduce-overhead")
    return train(model, lambda: ids(8, 512), called, precision="bf16", clip=None)


def fresh_sparse_rows() -> Step:
    """Tables whose gradients hold only the rows that were looked up."""
    table = nn.Embedding(400_000, 128, sparse=True, device="cuda")
    dense = nn.Sequential(nn.Linear(128 * 20, 1024), nn.ReLU(), nn.Linear(1024, 1)).to("cuda")
    of_rows = torch.optim.SparseAdam(list(table.parameters()), lr=1e-3)
    of_rest = torch.optim.AdamW(dense.parameters(), lr=1e-3)

    def step() -> None:
        looked_up = torch.randint(0, 400_000, (16384, 20), device="cuda")
        wanted = torch.rand(16384, 1, device="cuda")
        loss = F.binary_cross_entropy_with_logits(dense(table(looked_up).flatten(1)), wanted)
        loss.backward()
        for each in (of_rows, of_rest):
            each.step()
            each.zero_grad()

    return step


def fresh_expandable_by_file() -> Step:
    """The file itself asks for segments that grow."""
    os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"
    with torch.device("cuda"):
        model = Decoder(SMALL, 1024)
    return train(model, lambda: ids(6, 1024), model, precision="amp-bf16")
