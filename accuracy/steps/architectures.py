"""Language models written in plain torch, as small research code bases write them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint


@dataclass(frozen=True)
class Dimensions:
    """The size of a decoder."""

    vocabulary: int
    width: int
    layers: int
    heads: int
    kv_heads: int
    hidden: int
    experts: int = 0
    top_k: int = 2
    math_attention: bool = False
    float_loss: bool = True
    dropout: float = 0.0


GPT_SMALL = Dimensions(50304, 768, 12, 12, 12, 3072)
LLAMA_1B = Dimensions(32000, 2048, 22, 32, 4, 5632)
QWEN_HALF_B = Dimensions(151936, 896, 24, 14, 2, 4864)
EXPERTS = Dimensions(32000, 1024, 8, 16, 16, 2816, experts=8)
WIDE_SHALLOW = Dimensions(64000, 3072, 6, 24, 8, 8192)
with_changes = replace


class Attention(nn.Module):
    """Causal self-attention with rotary positions and grouped keys and values."""

    def __init__(self, size: Dimensions) -> None:
        super().__init__()
        self.size = size
        self.head = size.width // size.heads
        self.query = nn.Linear(size.width, size.width, bias=False)
        self.key = nn.Linear(size.width, self.head * size.kv_heads, bias=False)
        self.value = nn.Linear(size.width, self.head * size.kv_heads, bias=False)
        self.out = nn.Linear(size.width, size.width, bias=False)

    def forward(self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        samples, length, width = x.shape
        query = self.query(x).view(samples, length, self.size.heads, self.head).transpose(1, 2)
        key = self.key(x).view(samples, length, self.size.kv_heads, self.head).transpose(1, 2)
        value = self.value(x).view(samples, length, self.size.kv_heads, self.head).transpose(1, 2)
        query, key = rotate(query, cos, sin).to(value.dtype), rotate(key, cos, sin).to(value.dtype)
        groups = self.size.heads // self.size.kv_heads
        if groups > 1:
            key, value = key.repeat_interleave(groups, 1), value.repeat_interleave(groups, 1)
        if self.size.math_attention:
            mixed = by_hand(query, key, value)
        else:
            mixed = F.scaled_dot_product_attention(query, key, value, dropout_p=self.dropout, is_causal=True)
        return self.out(mixed.transpose(1, 2).reshape(samples, length, width))

    @property
    def dropout(self) -> float:
        return self.size.dropout if self.training else 0.0


def rotate(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """Rotary position embedding."""
    left, right = x.chunk(2, -1)
    return x * cos + torch.cat((-right, left), -1) * sin


def by_hand(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    """Attention as a textbook writes it, with the whole score matrix in memory."""
    scores = query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1])
    length = query.shape[-2]
    seen = torch.ones(length, length, dtype=torch.bool, device=query.device).tril()
    return (
        F.softmax(scores.masked_fill(~seen, float("-inf")), -1, dtype=torch.float32).to(query.dtype) @ value
    )


class Gated(nn.Module):
    """SwiGLU."""

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.gate = nn.Linear(width, hidden, bias=False)
        self.up = nn.Linear(width, hidden, bias=False)
        self.down = nn.Linear(hidden, width, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(F.silu(self.gate(x)) * self.up(x))


class Experts(nn.Module):
    """Top-k mixture of experts with a fixed capacity, so that every shape is known."""

    def __init__(self, size: Dimensions) -> None:
        super().__init__()
        self.size = size
        self.router = nn.Linear(size.width, size.experts, bias=False)
        self.gate = nn.Parameter(torch.randn(size.experts, size.width, size.hidden) * 0.02)
        self.up = nn.Parameter(torch.randn(size.experts, size.width, size.hidden) * 0.02)
        self.down = nn.Parameter(torch.randn(size.experts, size.hidden, size.width) * 0.02)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        flat = x.reshape(-1, x.shape[-1])
        weight, chosen = self.router(flat).softmax(-1).topk(self.size.top_k, -1)
        order = chosen.reshape(-1).argsort()
        room = math.ceil(flat.shape[0] * self.size.top_k / self.size.experts * 1.25)
        count = min(self.size.experts * room, order.shape[0])
        origin = (order // self.size.top_k)[:count]
        slots = torch.zeros(self.size.experts * room, x.shape[-1], dtype=flat.dtype, device=x.device)
        slots = slots.index_add(0, torch.arange(count, device=x.device), flat[origin])
        inside = slots.view(self.size.experts, room, -1)
        mixed = F.silu(torch.bmm(inside, self.gate.to(inside.dtype))) * torch.bmm(
            inside, self.up.to(inside.dtype)
        )
        result = torch.bmm(mixed, self.down.to(mixed.dtype)).view(self.size.experts * room, -1)
        share = weight.reshape(-1)[order][:count, None].to(result.dtype)
        total = torch.zeros_like(flat, dtype=result.dtype).index_add(0, origin, result[:count] * share)
        return total.view(x.shape)


class LoopedExperts(nn.Module):
    """Top-k mixture of experts as a loop over experts, each taking the tokens routed to it."""

    def __init__(self, size: Dimensions) -> None:
        super().__init__()
        self.size = size
        self.router = nn.Linear(size.width, size.experts, bias=False)
        self.experts = nn.ModuleList(Gated(size.width, size.hidden) for _ in range(size.experts))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        flat = x.reshape(-1, x.shape[-1])
        weight, chosen = self.router(flat).softmax(-1).topk(self.size.top_k, -1)
        total = torch.zeros_like(flat)
        for number, expert in enumerate(self.experts):
            rows, places = torch.where(chosen == number)
            mixed = expert(flat[rows]) * weight[rows, places, None]
            total.index_add_(0, rows, mixed.to(total.dtype))
        return total.view(x.shape)


class Block(nn.Module):
    """One decoder layer."""

    def __init__(self, size: Dimensions, *, looped: bool = False) -> None:
        super().__init__()
        self.before = nn.RMSNorm(size.width)
        self.attention = Attention(size)
        self.between = nn.RMSNorm(size.width)
        if size.experts:
            self.mixer: nn.Module = LoopedExperts(size) if looped else Experts(size)
        else:
            self.mixer = Gated(size.width, size.hidden)

    def forward(self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.before(x), cos, sin)
        return x + self.mixer(self.between(x))


class Decoder(nn.Module):
    """A causal language model that returns its loss."""

    def __init__(
        self, size: Dimensions, length: int, *, recompute: str = "none", looped: bool = False
    ) -> None:
        super().__init__()
        self.size, self.recompute = size, recompute
        self.embedding = nn.Embedding(size.vocabulary, size.width)
        self.blocks = nn.ModuleList(Block(size, looped=looped) for _ in range(size.layers))
        self.norm = nn.RMSNorm(size.width)
        self.head = nn.Linear(size.width, size.vocabulary, bias=False)
        half = size.width // size.heads
        angle = (
            torch.arange(length).float()[:, None] * (1e4 ** (-torch.arange(0, half, 2).float() / half))[None]
        )
        angle = torch.cat((angle, angle), -1)
        self.register_buffer("cos", angle.cos())
        self.register_buffer("sin", angle.sin())

    def forward(self, ids: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        x = self.embedding(ids)
        for number, block in enumerate(self.blocks):
            if self.recompute == "full" or (self.recompute == "selective" and number % 2):
                x = checkpoint(block, x, self.cos, self.sin, use_reentrant=False)
            elif self.recompute == "reentrant":
                x = checkpoint(block, x, self.cos, self.sin, use_reentrant=True)
            else:
                x = block(x, self.cos, self.sin)
        logits = self.head(self.norm(x)).flatten(0, 1)
        if self.size.float_loss:
            logits = logits.float()
        return F.cross_entropy(logits, labels.flatten())


class Adapter(nn.Module):
    """A linear layer with a low-rank update beside it."""

    def __init__(self, linear: nn.Linear, rank: int) -> None:
        super().__init__()
        self.linear = linear
        like = {"device": linear.weight.device, "dtype": linear.weight.dtype}
        self.down = nn.Parameter(torch.randn(rank, linear.in_features, **like) * 0.01)
        self.up = nn.Parameter(torch.zeros(linear.out_features, rank, **like))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x) + (x @ self.down.t()) @ self.up.t()


def adapt(model: nn.Module, rank: int, names: tuple[str, ...]) -> nn.Module:
    """Freeze the model and put adapters on the linear layers with these names."""
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    for module in list(model.modules()):
        for name, child in list(module.named_children()):
            if isinstance(child, nn.Linear) and name in names:
                setattr(module, name, Adapter(child, rank))
    return model
