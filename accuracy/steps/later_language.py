"""Language models as people write them from scratch, each with its own way of writing a layer and a loop.

Nothing here is shared with the other step files but the loop: weights that are tied, rotations of complex numbers,
experts chosen by a loop and by one-hot products, adapters, averages, parts that are frozen, ranks of many.
"""

from __future__ import annotations

import copy
import math
import os
from contextlib import nullcontext
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint
from training import Step, train


class CausalAttention(nn.Module):
    """One product for query, key and value; dropout on what is left."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.c_attn, self.c_proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.drop = nn.Dropout(dropout)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        b, t, c = x.size()
        q, k, v = self.c_attn(x).split(c, dim=2)
        q, k, v = (part.view(b, t, self.heads, c // self.heads).transpose(1, 2) for part in (q, k, v))
        y = F.scaled_dot_product_attention(
            q, k, v, dropout_p=self.dropout if self.training else 0, is_causal=True
        )
        return self.drop(self.c_proj(y.transpose(1, 2).contiguous().view(b, t, c)))


class GptBlock(nn.Module):
    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attn = CausalAttention(width, heads, dropout)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width), nn.Dropout(dropout)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class Gpt(nn.Module):
    """Learned positions, a head that is the embedding."""

    def __init__(
        self, vocabulary: int, length: int, layers: int, heads: int, width: int, dropout: float = 0.0,
        recompute: str = "", smoothing: float = 0.0,
    ) -> None:  # fmt: skip
        super().__init__()
        self.recompute, self.smoothing = recompute, smoothing
        self.wte, self.wpe = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        self.drop = nn.Dropout(dropout)
        self.h = nn.ModuleList(GptBlock(width, heads, dropout) for _ in range(layers))
        self.ln_f = nn.LayerNorm(width)
        self.lm_head = nn.Linear(width, vocabulary, bias=False)
        self.wte.weight = self.lm_head.weight

    def forward(self, ids: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        positions = torch.arange(ids.shape[1], device=ids.device)
        x = self.drop(self.wte(ids) + self.wpe(positions))
        for block in self.h:
            x = (
                checkpoint(block, x, use_reentrant=self.recompute == "reentrant")
                if self.recompute
                else block(x)
            )
        logits = self.lm_head(self.ln_f(x))
        return F.cross_entropy(
            logits.view(-1, logits.size(-1)), labels.view(-1), ignore_index=-1, label_smoothing=self.smoothing
        )


def text(vocabulary: int, samples: int, length: int) -> Any:
    """Ids and the ids after them."""

    def batch() -> tuple[torch.Tensor, torch.Tensor]:
        made = torch.randint(0, vocabulary, (samples, length + 1), device="cuda")
        return made[:, :-1].contiguous(), made[:, 1:].contiguous()

    return batch


def grouped(model: nn.Module, **options: Any) -> torch.optim.Optimizer:
    """AdamW that decays matrices alone."""
    decayed = [p for p in model.parameters() if p.requires_grad and p.dim() >= 2]
    others = [p for p in model.parameters() if p.requires_grad and p.dim() < 2]
    groups = [{"params": decayed, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=6e-4, betas=(0.9, 0.95), **options)


def looped(
    model: nn.Module, called: Any, batch: Any, optimizer: torch.optim.Optimizer, *, half: Any = None, times: int = 1,
    clip: float = 1.0,
) -> Step:  # fmt: skip
    """The loop of a small code base, with a scaler where it is needed."""
    scaler = torch.amp.GradScaler("cuda", enabled=half is torch.float16)

    def step() -> None:
        for _ in range(times):
            x, y = batch()
            with torch.amp.autocast("cuda", dtype=half) if half else nullcontext():
                loss = called(x, y) / times
            scaler.scale(loss).backward()
        if clip:
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad(set_to_none=True)

    return step


def later_small_gpt_amp() -> Step:
    model = Gpt(50257, 777, 12, 12, 768, dropout=0.1).to("cuda")
    return looped(model, model, text(50257, 11, 777), grouped(model, fused=True), half=torch.bfloat16)


def later_small_gpt_compiled() -> Step:
    model = Gpt(50304, 640, 10, 10, 640).to("cuda")
    return looped(
        model,
        torch.compile(model),
        text(50304, 14, 640),
        grouped(model, fused=True),
        half=torch.bfloat16,
        times=2,
    )


def later_gpt_reentrant_accumulated() -> Step:
    model = Gpt(50257, 1100, 20, 16, 1280, recompute="reentrant").to("cuda")
    return looped(model, model, text(50257, 5, 1100), grouped(model), half=torch.bfloat16, times=3)


def later_gpt_fp16_smoothed_vocabulary() -> Step:
    model = Gpt(131072, 512, 6, 8, 512, dropout=0.05, smoothing=0.1).to("cuda")
    return looped(model, model, text(131072, 9, 500), grouped(model), half=torch.float16)


def later_gpt_tf32_accumulated() -> Step:
    torch.set_float32_matmul_precision("high")
    model = Gpt(32768, 600, 8, 12, 960, recompute="plain").to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, nesterov=True)
    return looped(model, model, text(32768, 7, 600), optimizer, times=2)


class Rotary(nn.Module):
    """Attention with positions as rotations of complex numbers, heads shared by groups."""

    def __init__(self, width: int, heads: int, shared: int) -> None:
        super().__init__()
        self.heads, self.shared, self.size = heads, shared, width // heads
        self.wq, self.wo = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)
        self.wk = nn.Linear(width, shared * self.size, bias=False)
        self.wv = nn.Linear(width, shared * self.size, bias=False)

    def forward(self, x: torch.Tensor, turns: torch.Tensor) -> torch.Tensor:
        b, t, _ = x.shape
        q, k, v = (made.view(b, t, -1, self.size) for made in (self.wq(x), self.wk(x), self.wv(x)))
        q, k = turned(q, turns), turned(k, turns)
        q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=self.shared != self.heads)
        return self.wo(y.transpose(1, 2).reshape(b, t, -1))


def turned(x: torch.Tensor, turns: torch.Tensor) -> torch.Tensor:
    pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * turns[None, :, None]).flatten(3).type_as(x)


class OwnNorm(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x.float() * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + 1e-5)
        return y.type_as(x) * self.weight


class FeedForward(nn.Module):
    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.w1, self.w3 = nn.Linear(width, hidden, bias=False), nn.Linear(width, hidden, bias=False)
        self.w2 = nn.Linear(hidden, width, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class Layer(nn.Module):
    def __init__(self, width: int, heads: int, shared: int, feed: nn.Module) -> None:
        super().__init__()
        self.attention_norm, self.ffn_norm = OwnNorm(width), OwnNorm(width)
        self.attention, self.feed_forward = Rotary(width, heads, shared), feed

    def forward(self, x: torch.Tensor, turns: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.attention_norm(x), turns)
        return x + self.feed_forward(self.ffn_norm(x))


class Llama(nn.Module):
    def __init__(
        self, vocabulary: int, width: int, layers: int, heads: int, shared: int, hidden: int, length: int,
        *, recompute: bool = False, feed: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.recompute = recompute
        self.tok_embeddings = nn.Embedding(vocabulary, width)
        make = feed or (lambda: FeedForward(width, hidden))
        self.layers = nn.ModuleList(Layer(width, heads, shared, make()) for _ in range(layers))
        self.norm, self.output = OwnNorm(width), nn.Linear(width, vocabulary, bias=False)
        size = width // heads
        speed = 1.0 / (10000.0 ** (torch.arange(0, size, 2).float() / size))
        angles = torch.outer(torch.arange(length).float(), speed)
        self.turns = torch.polar(torch.ones_like(angles), angles)

    def forward(self, ids: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        x = self.tok_embeddings(ids)
        for layer in self.layers:
            again = self.recompute
            x = checkpoint(layer, x, self.turns, use_reentrant=False) if again else layer(x, self.turns)
        logits = self.output(self.norm(x)).float()
        return F.cross_entropy(logits.flatten(0, 1), labels.flatten())


class LowRank(nn.Module):
    """An adapter with dropout on its way in, its own weights in float32."""

    def __init__(self, base: nn.Linear, rank: int, alpha: int = 16) -> None:
        super().__init__()
        self.base, self.scale = base.requires_grad_(False), alpha / rank
        device = base.weight.device
        self.lora_dropout = nn.Dropout(0.05)
        self.lora_a = nn.Linear(base.in_features, rank, bias=False, device=device)
        self.lora_b = nn.Linear(rank, base.out_features, bias=False, device=device)
        nn.init.zeros_(self.lora_b.weight)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        low = self.lora_b(self.lora_a(self.lora_dropout(x.to(self.lora_a.weight.dtype))))
        return self.base(x) + (low * self.scale).to(x.dtype)


def with_adapters(model: nn.Module, rank: int, names: tuple[str, ...]) -> nn.Module:
    model.requires_grad_(False)
    for parent in list(model.modules()):
        for name, child in list(parent.named_children()):
            if name in names and isinstance(child, nn.Linear):
                setattr(parent, name, LowRank(child, rank))
    return model


def on_gpu(make: Any, dtype: torch.dtype = torch.bfloat16) -> Any:
    """The model, made on the device in the dtype."""
    torch.set_default_dtype(dtype)
    try:
        with torch.device("cuda"):
            model = make()
    finally:
        torch.set_default_dtype(torch.float32)
    if hasattr(model, "turns"):
        model.turns = model.turns.to(torch.complex64)
    return model


def later_llama_7b_adapters() -> Step:
    model = on_gpu(lambda: Llama(32000, 4096, 32, 32, 32, 11008, 900, recompute=True))
    model = with_adapters(model, 8, ("wq", "wv"))
    model.tok_embeddings.register_forward_hook(lambda _m, _i, out: out.requires_grad_(True))
    return looped(model, model, text(32000, 3, 900), grouped(model), times=2)


def later_llama_2b_fused() -> Step:
    model = on_gpu(lambda: Llama(64000, 2560, 26, 20, 4, 6912, 1300, recompute=True))
    return looped(model, model, text(64000, 2, 1300), grouped(model, fused=True))


def later_llama_complex_fp32() -> Step:
    model = on_gpu(lambda: Llama(24000, 1024, 12, 16, 16, 2736, 500), torch.float32)
    return looped(model, model, text(24000, 6, 500), grouped(model, foreach=False))


def later_llama_expandable_sgd() -> Step:
    os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"
    model = on_gpu(lambda: Llama(48000, 1792, 14, 14, 2, 4864, 1200))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    return looped(model, model, text(48000, 4, 1200), optimizer, times=2)


def later_frozen_half() -> Step:
    """The lower half is frozen, so that the backward pass stops in the middle."""
    model = on_gpu(lambda: Llama(32000, 1536, 18, 12, 6, 4096, 1024))
    model.tok_embeddings.requires_grad_(False)
    for layer in model.layers[:9]:
        layer.requires_grad_(False)
    return looped(model, model, text(32000, 7, 1024), grouped(model))


def later_averaged_two_optimizers() -> Step:
    """Adafactor for the tables, AdamW for the rest, and a copy that follows."""
    model = on_gpu(lambda: Llama(64000, 1024, 12, 16, 4, 2816, 800), torch.float32)
    follower = copy.deepcopy(model).eval().requires_grad_(False)
    tables = [model.tok_embeddings.weight, model.output.weight]
    kept = {id(p) for p in tables}
    others = [p for p in model.parameters() if id(p) not in kept]
    optimizers = [torch.optim.Adafactor(tables, lr=1e-3), torch.optim.AdamW(others, lr=3e-4)]
    batch = text(64000, 5, 800)

    def step() -> None:
        x, y = batch()
        with torch.autocast("cuda", torch.bfloat16):
            loss = model(x, y)
        for optimizer in optimizers:
            optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for optimizer in optimizers:
            optimizer.step()
        with torch.no_grad():
            for mine, theirs in zip(follower.parameters(), model.parameters(), strict=True):
                mine.mul_(0.999).add_(theirs, alpha=0.001)

    return step


def later_logged_by_hand() -> Step:
    """Norms by a loop, every number read back, gradients zeroed at the beginning of the next step."""
    model = on_gpu(lambda: Llama(32000, 1280, 10, 10, 10, 3456, 700))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, foreach=False, amsgrad=True)
    batch = text(32000, 6, 700)
    log: list[float] = []

    def step() -> None:
        optimizer.zero_grad(set_to_none=False)
        loss = model(*batch())
        loss.backward()
        total = 0.0
        for p in model.parameters():
            total += p.grad.detach().float().norm(2).item() ** 2
        scale = min(1.0, 1.0 / (math.sqrt(total) + 1e-6))
        for p in model.parameters():
            p.grad.mul_(scale)
        optimizer.step()
        log.append(loss.item())

    return step


class RoutedByLoop(nn.Module):
    """Each expert takes the tokens that chose it, found by their indices."""

    def __init__(self, width: int, hidden: int, experts: int, chosen: int) -> None:
        super().__init__()
        self.chosen = chosen
        self.gate = nn.Linear(width, experts, bias=False)
        self.experts = nn.ModuleList(FeedForward(width, hidden) for _ in range(experts))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        flat = x.view(-1, x.shape[-1])
        weights, picked = torch.topk(self.gate(flat), self.chosen)
        weights = F.softmax(weights, dim=1, dtype=torch.float).to(x.dtype)
        results = torch.zeros_like(flat)
        for number, expert in enumerate(self.experts):
            rows, place = torch.where(picked == number)
            results[rows] += weights[rows, place, None] * expert(flat[rows]).to(results.dtype)
        return results.view_as(x)


def later_experts_by_loop_fp16() -> Step:
    model = on_gpu(
        lambda: Llama(32000, 768, 8, 12, 12, 0, 640, feed=lambda: RoutedByLoop(768, 2048, 6, 2)),
        torch.float32,
    )
    return looped(model, model, text(32000, 6, 640), grouped(model), half=torch.float16)


class RoutedByProducts(nn.Module):
    """Tokens are sent to experts and back by products with one-hot tensors, with room for so many each."""

    def __init__(self, width: int, hidden: int, experts: int) -> None:
        super().__init__()
        self.experts = experts
        self.router = nn.Linear(width, experts)
        self.wi = nn.Parameter(torch.randn(experts, width, hidden) * 0.02)
        self.wo = nn.Parameter(torch.randn(experts, hidden, width) * 0.02)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        t = x.shape[1]
        room = int(1.25 * t / self.experts)
        share = self.router(x.float()).softmax(-1)
        gate, index = share.max(-1)
        mask = F.one_hot(index, self.experts).float()
        position = (mask.cumsum(1) - 1.0) * mask
        mask = mask * (position < room)
        place = F.one_hot((position * mask).sum(-1).long(), room).float()
        send = torch.einsum("bte,btc->btec", mask, place)
        inside = torch.einsum("btec,btd->ebcd", send.to(x.dtype), x)
        hidden = F.relu(torch.einsum("ebcd,edh->ebch", inside, self.wi))
        made = torch.einsum("ebch,ehd->ebcd", hidden, self.wo)
        back = (send * gate[..., None, None]).to(made.dtype)
        return torch.einsum("btec,ebcd->btd", back, made).to(x.dtype)


def later_experts_by_products_amp() -> Step:
    model = on_gpu(
        lambda: Llama(32000, 768, 8, 12, 4, 0, 720, feed=lambda: RoutedByProducts(768, 3072, 8)),
        torch.float32,
    )
    return looped(model, model, text(32000, 5, 720), grouped(model), half=torch.bfloat16)


def later_encoder_masked_fp16() -> Step:
    """Torch's own encoder before its norm, padding masks, and a head over the masked places alone."""
    layer = nn.TransformerEncoderLayer(
        768, 12, 3072, dropout=0.1, activation="gelu", batch_first=True, norm_first=True
    )
    encoder = nn.TransformerEncoder(layer, 10, enable_nested_tensor=False).to("cuda")
    table, head = nn.Embedding(30522, 768).to("cuda"), nn.Linear(768, 30522).to("cuda")
    model = nn.ModuleList((encoder, table, head))

    def batch() -> tuple[torch.Tensor, ...]:
        ids = torch.randint(0, 30522, (26, 300), device="cuda")
        padding = torch.zeros(26, 300, dtype=torch.bool, device="cuda")
        padding[::3, 250:] = True
        return ids, padding

    def loss_of(ids: torch.Tensor, padding: torch.Tensor) -> torch.Tensor:
        out = encoder(table(ids), src_key_padding_mask=padding)
        asked = torch.arange(0, 300, 7, device="cuda")
        return F.cross_entropy(head(out[:, asked]).flatten(0, 1), ids[:, asked].flatten())

    return train(model, batch, loss_of, precision="amp-fp16", optimizer="sgdm")


def as_ranks(number: int) -> None:
    """One rank of several, whose collectives take part in nothing."""
    from torch.testing._internal.distributed.fake_pg import FakeStore

    if not dist.is_initialized():
        dist.init_process_group("fake", store=FakeStore(), rank=1, world_size=number)


def as_one_rank() -> None:
    """DDP wants real collectives: NCCL's, of a group of one."""
    if not dist.is_initialized():
        dist.init_process_group("nccl", store=dist.HashStore(), rank=0, world_size=1)


def later_ranks_ddp_amp() -> Step:
    as_one_rank()
    model = Gpt(50257, 900, 12, 12, 768).to("cuda")
    wrapped = nn.parallel.DistributedDataParallel(model, device_ids=[0])
    return looped(model, wrapped, text(50257, 8, 900), grouped(model), half=torch.bfloat16)


def later_ranks_ddp_views_accumulated() -> Step:
    as_one_rank()
    model = on_gpu(lambda: Llama(32000, 1536, 12, 12, 4, 4096, 800))
    wrapped = nn.parallel.DistributedDataParallel(
        model, device_ids=[0], gradient_as_bucket_view=True, bucket_cap_mb=50, broadcast_buffers=False
    )
    optimizer = grouped(model, fused=True)
    batch = text(32000, 5, 800)

    def step() -> None:
        for number in range(3):
            with wrapped.no_sync() if number < 2 else nullcontext():
                (wrapped(*batch()) / 3).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()

    return step


def later_ranks_sharded_mixed() -> Step:
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

    as_ranks(8)
    model = on_gpu(lambda: Llama(64000, 2048, 16, 16, 8, 5504, 1000, recompute=True), torch.float32)
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for layer in model.layers:
        fully_shard(layer, mp_policy=policy)
    fully_shard(model, mp_policy=policy)
    return looped(model, model, text(64000, 3, 1000), grouped(model))


def later_ranks_sharded_kept() -> Step:
    """Gathered weights are kept for the backward pass."""
    from torch.distributed.fsdp import fully_shard

    as_ranks(4)
    model = on_gpu(lambda: Llama(32000, 1280, 14, 20, 5, 3456, 850))
    for layer in model.layers:
        fully_shard(layer, reshard_after_forward=False)
    fully_shard(model)
    return looped(model, model, text(32000, 6, 850), grouped(model, fused=True), times=2)
