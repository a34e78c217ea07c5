"""Loops, optimizers and layers that people write themselves, on models of modest size.

Optimizers inside the backward pass, quantised states, double backward, streams, chunked losses, sparse graphs,
Fourier layers: nothing of it is in the rest of the measured set.
"""

from __future__ import annotations

from typing import Any

import torch
from architectures import Decoder, Dimensions, with_changes
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts
from training import Step, train

MODEST = Dimensions(32000, 1024, 14, 16, 4, 2816)


def decoder(size: Dimensions = MODEST, length: int = 1024, dtype: torch.dtype = torch.bfloat16) -> Decoder:
    return Decoder(size, length).to("cuda", dtype).train()


def ids(samples: int, length: int, vocabulary: int = 32000) -> tuple[torch.Tensor, torch.Tensor]:
    made = torch.randint(0, vocabulary, (samples, length + 1), device="cuda")
    return made[:, :-1].contiguous(), made[:, 1:].contiguous()


class Lion(torch.optim.Optimizer):
    """Sign of an interpolated momentum, parameter by parameter."""

    def __init__(self, parameters: Any, lr: float = 1e-4) -> None:
        super().__init__(parameters, {"lr": lr, "betas": (0.9, 0.99), "decay": 0.1})

    @torch.no_grad()
    def step(self, _closure: Any = None) -> None:
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                if not state:
                    state["average"] = torch.zeros_like(p)
                p.mul_(1 - group["lr"] * group["decay"])
                update = state["average"] * group["betas"][0] + p.grad * (1 - group["betas"][0])
                p.add_(update.sign_(), alpha=-group["lr"])
                state["average"].lerp_(p.grad, 1 - group["betas"][1])


def fresh_lion_bf16() -> Step:
    model = decoder()
    optimizer = Lion(model.parameters())

    def step() -> None:
        for _ in range(2):
            (model(*ids(6, 1024)) / 2).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0, foreach=False)
        optimizer.step()
        optimizer.zero_grad(set_to_none=False)

    return step


class ByteAdam(torch.optim.Optimizer):
    """Adam whose moments are kept as bytes with one scale per block of 256 values."""

    def __init__(self, parameters: Any, lr: float = 1e-4) -> None:
        super().__init__(parameters, {"lr": lr})

    @torch.no_grad()
    def step(self, _closure: Any = None) -> None:
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    self._update(p, group["lr"])

    def _update(self, p: torch.Tensor, lr: float) -> None:
        state = self.state[p]
        blocks = (p.numel() + 255) // 256
        if not state:
            for name in ("first", "second"):
                state[name] = torch.zeros(blocks, 256, dtype=torch.int8, device=p.device)
                state[name + "_scale"] = torch.ones(blocks, 1, device=p.device)
        grad = F.pad(p.grad.float().flatten(), (0, blocks * 256 - p.numel())).view(blocks, 256)
        first = state["first"].float() * state["first_scale"]
        second = state["second"].float() * state["second_scale"]
        first = first.lerp(grad, 0.1)
        second = second.mul(0.99).addcmul(grad, grad, value=0.01)
        for name, value in (("first", first), ("second", second)):
            scale = value.abs().amax(1, keepdim=True).clamp_min(1e-12) / 127
            state[name].copy_((value / scale).round())
            state[name + "_scale"].copy_(scale)
        update = first / (second.sqrt() + 1e-8)
        p.add_(update.flatten()[: p.numel()].view_as(p).to(p.dtype), alpha=-lr)


def fresh_byte_adam() -> Step:
    model = decoder(with_changes(MODEST, width=1280, heads=20, layers=10))
    optimizer = ByteAdam(model.parameters())

    def step() -> None:
        model(*ids(4, 1024)).backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


def fresh_muon() -> Step:
    model = decoder(with_changes(MODEST, layers=10))
    hidden = [p for name, p in model.named_parameters() if p.ndim == 2 and "blocks" in name]
    others = [p for name, p in model.named_parameters() if p.ndim != 2 or "blocks" not in name]
    optimizers = [torch.optim.Muon(hidden, lr=1e-3), torch.optim.AdamW(others, lr=1e-4, amsgrad=True)]

    def step() -> None:
        model(*ids(6, 1024)).backward()
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad()

    return step


def fresh_step_in_backward() -> Step:
    """Every parameter is updated as soon as its gradient is there, and the gradient dropped."""
    model = decoder(with_changes(MODEST, width=1536, heads=24, layers=12, hidden=4096))
    optimizers = {p: torch.optim.AdamW([p], lr=1e-4, foreach=False) for p in model.parameters()}

    def update(p: torch.Tensor) -> None:
        optimizers[p].step()
        optimizers[p].zero_grad()

    for p in model.parameters():
        p.register_post_accumulate_grad_hook(update)

    def step() -> None:
        model(*ids(4, 1024)).backward()

    return step


def fresh_averaged_after_loading() -> Step:
    """Weights loaded from a state dict, an exponential moving average of them, evaluation inside the step."""
    size = with_changes(MODEST, layers=10)
    state = {name: torch.empty_like(value) for name, value in Decoder(size, 1024).state_dict().items()}
    model = Decoder(size, 1024).to("cuda")
    model.load_state_dict(state)
    averaged = torch.optim.swa_utils.AveragedModel(
        model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.999), use_buffers=True
    )
    optimizer = torch.optim.NAdam(model.parameters(), lr=1e-4)

    def step() -> None:
        model.train()
        with torch.autocast("cuda", torch.bfloat16):
            loss = model(*ids(6, 1024))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        averaged.update_parameters(model)
        averaged.eval()
        with torch.no_grad(), torch.autocast("cuda", torch.bfloat16):
            averaged(*ids(8, 1024)).item()

    return step


def fresh_lengths_that_vary() -> Step:
    model = decoder()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    model.register_buffer("positions", torch.arange(2048, device="cuda"), persistent=False)

    def loss_at(samples: int, length: int) -> torch.Tensor:
        made, labels = ids(samples, length)
        x = model.embedding(made)
        for block in model.blocks:
            x = block(x, model.cos[:length], model.sin[:length])
        return F.cross_entropy(model.head(model.norm(x)).flatten(0, 1).float(), labels.flatten())

    def step() -> None:
        for samples, length in ((6, 640), (4, 1024), (9, 384), (5, 896)):
            (loss_at(samples, length) / 4).backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


class ChunkedLoss(torch.autograd.Function):
    """Cross entropy of a linear head, chunk by chunk, gradients made in the forward pass."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, weight: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        grad_x, grad_weight = torch.empty_like(x), torch.zeros_like(weight, dtype=torch.float32)
        total = torch.zeros((), device=x.device)
        for start in range(0, x.shape[0], 1024):
            part, target = x[start : start + 1024], labels[start : start + 1024]
            logits = (part @ weight.t()).float()
            total += F.cross_entropy(logits, target, reduction="sum")
            probability = logits.softmax(-1)
            probability[torch.arange(part.shape[0], device=x.device), target] -= 1
            probability = probability.to(x.dtype)
            grad_x[start : start + 1024] = probability @ weight
            grad_weight += probability.t() @ part
        ctx.save_for_backward(grad_x / x.shape[0], (grad_weight / x.shape[0]).to(weight.dtype))
        return total / x.shape[0]

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, None]:
        grad_x, grad_weight = ctx.saved_tensors
        return grad_x * grad, grad_weight * grad, None


def fresh_chunked_loss() -> Step:
    size = with_changes(MODEST, vocabulary=128000, layers=8)
    model = decoder(size)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)

    def step() -> None:
        made, labels = ids(6, 1024, 128000)
        x = model.embedding(made)
        for block in model.blocks:
            x = block(x, model.cos, model.sin)
        ChunkedLoss.apply(model.norm(x).flatten(0, 1), model.head.weight, labels.flatten()).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()

    return step


def fresh_copies_and_empty_cache() -> Step:
    """Batches come from pinned memory, results go back, and the cache is emptied between training and evaluation."""
    model = decoder(with_changes(MODEST, layers=8), dtype=torch.float32)
    optimizer = torch.optim.RAdam(model.parameters(), lr=1e-4)

    def step() -> None:
        host = torch.randint(0, 32000, (5, 1025)).pin_memory()
        made = host.to("cuda", non_blocking=True)
        with torch.autocast("cuda", torch.bfloat16):
            loss = model(made[:, :-1], made[:, 1:].contiguous())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        torch.cuda.empty_cache()
        model.eval()
        with torch.no_grad():
            model(*ids(2, 1024)).cpu()
        model.train()

    return step


def fresh_side_stream() -> Step:
    """The next batch is copied and enlarged on a stream of its own while the last one trains."""
    model = nn.Sequential(
        nn.Linear(4096, 8192), nn.GELU(), nn.LayerNorm(8192), nn.Linear(8192, 8192), nn.GELU(), nn.Linear(8192, 1000)
    ).to("cuda")  # fmt: skip
    optimizer = torch.optim.Adagrad(model.parameters(), lr=1e-3)
    stream = torch.cuda.Stream()

    def fetched() -> torch.Tensor:
        with torch.cuda.stream(stream):
            x = torch.empty(8192, 4096, dtype=torch.bfloat16).to("cuda", non_blocking=True)
            return x.float().mul_(2).sub_(1)

    held = [fetched()]

    def step() -> None:
        torch.cuda.current_stream().wait_stream(stream)
        x = held.pop()
        x.record_stream(torch.cuda.current_stream())
        held.append(fetched())
        F.cross_entropy(model(x), torch.randint(0, 1000, (8192,), device="cuda")).backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


class MaskedAttention(nn.Module):
    """Heads of an odd size and a mask that is added to the scores."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm, self.qkv, self.out = (
            nn.LayerNorm(width),
            nn.Linear(width, 3 * width),
            nn.Linear(width, width),
        )
        self.after = nn.Sequential(
            nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU(approximate="tanh"), nn.Linear(4 * width, width)
        )  # fmt: skip

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        query, key, value = self.qkv(self.norm(x)).chunk(3, -1)
        split = [part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in (query, key, value)]
        mixed = F.scaled_dot_product_attention(
            *split, attn_mask=mask, dropout_p=0.1 if self.training else 0.0
        )
        x = x + self.out(mixed.transpose(1, 2).flatten(-2))
        return x + self.after(x)


class Masked(nn.Module):
    def __init__(self, width: int, heads: int, layers: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(MaskedAttention(width, heads) for _ in range(layers))

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = layer(x, mask)
        return x


def fresh_masked_odd_heads() -> Step:
    model = Masked(1152, 16, 10).to("cuda")

    def batch() -> tuple[torch.Tensor, ...]:
        x = torch.randn(12, 500, 1152, device="cuda")
        mask = torch.zeros(12, 1, 500, 500, device="cuda", dtype=torch.bfloat16)
        return x, mask.masked_fill(torch.rand(12, 1, 1, 500, device="cuda") < 0.1, float("-inf"))

    return train(model, batch, lambda x, m: model(x, m).float().square().mean(), precision="amp-bf16")


def fresh_boolean_mask_fp32() -> Step:
    model = Masked(768, 12, 8).to("cuda")

    def batch() -> tuple[torch.Tensor, ...]:
        return torch.randn(8, 700, 768, device="cuda"), torch.rand(700, 700, device="cuda") < 0.9

    return train(model, batch, lambda x, m: model(x, m).square().mean(), precision="fp32", optimizer="sgdm")


def fresh_selective_policy() -> Step:
    """Matrix products and attention are kept, everything else is computed again."""
    model = decoder(with_changes(MODEST, layers=12))
    aten = torch.ops.aten
    kept = {
        aten.mm.default,
        aten._scaled_dot_product_flash_attention.default,
        aten._scaled_dot_product_cudnn_attention.default,
    }

    def policy(_context: Any, operation: Any, *_: Any, **__: Any) -> CheckpointPolicy:
        return CheckpointPolicy.MUST_SAVE if operation in kept else CheckpointPolicy.PREFER_RECOMPUTE

    def contexts() -> Any:
        return create_selective_checkpoint_contexts(policy)

    def loss_of(made: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        x = model.embedding(made)
        for block in model.blocks:
            x = checkpoint(block, x, model.cos, model.sin, use_reentrant=False, context_fn=contexts)
        return F.cross_entropy(model.head(model.norm(x)).flatten(0, 1), labels.flatten())

    return train(model, lambda: ids(8, 1024), loss_of, precision="bf16")


def fresh_embedding_bags() -> Step:
    """A recommender: large tables, bags of indices, a small network on top."""
    tables = nn.ModuleList(nn.EmbeddingBag(400_000, 128, mode="sum") for _ in range(6)).to("cuda")
    top = nn.Sequential(
        nn.Linear(128 * 6 + 64, 1024), nn.ReLU(), nn.Linear(1024, 512), nn.ReLU(), nn.Linear(512, 1)
    ).to("cuda")
    model = nn.ModuleList((tables, top))

    def batch() -> tuple[torch.Tensor, ...]:
        return (
            torch.randint(0, 400_000, (6, 16384, 20), device="cuda"),
            torch.randn(16384, 64, device="cuda"),
            torch.rand(16384, 1, device="cuda"),
        )

    def loss_of(indices: torch.Tensor, dense: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        looked = [table(index) for table, index in zip(tables, indices, strict=True)]
        return F.binary_cross_entropy_with_logits(top(torch.cat((*looked, dense), 1)), y)

    return train(model, batch, loss_of, precision="fp32", optimizer="sgd", clip=None)


def fresh_distillation() -> Step:
    student = Decoder(MODEST, 1024).to("cuda")
    teacher = (
        decoder(with_changes(MODEST, width=1536, heads=24, layers=16, hidden=4096))
        .eval()
        .requires_grad_(False)
    )

    def logits(model: Decoder, made: torch.Tensor) -> torch.Tensor:
        x = model.embedding(made)
        for block in model.blocks:
            x = block(x, model.cos, model.sin)
        return model.head(model.norm(x)).flatten(0, 1)

    def loss_of(made: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            wanted = logits(teacher, made).float().log_softmax(-1)
        said = logits(student, made).float()
        hard = F.cross_entropy(said, labels.flatten())
        return hard + F.kl_div(said.log_softmax(-1), wanted, reduction="batchmean", log_target=True)

    return train(student, lambda: ids(4, 1024), loss_of, precision="amp-bf16")


class Spectral(nn.Module):
    """A layer of a Fourier neural operator."""

    def __init__(self, width: int, modes: int) -> None:
        super().__init__()
        self.modes = modes
        self.weight = nn.Parameter(torch.randn(width, width, modes, modes, dtype=torch.cfloat) / width)
        self.beside = nn.Conv2d(width, width, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        found = torch.fft.rfft2(x)
        out = torch.zeros_like(found)
        kept = found[:, :, : self.modes, : self.modes]
        out[:, :, : self.modes, : self.modes] = torch.einsum("bixy,ioxy->boxy", kept, self.weight)
        return F.gelu(torch.fft.irfft2(out, s=x.shape[-2:]) + self.beside(x))


def fresh_fourier_operator() -> Step:
    model = nn.Sequential(nn.Conv2d(3, 64, 1), *(Spectral(64, 24) for _ in range(4)), nn.Conv2d(64, 1, 1)).to(
        "cuda"
    )

    def batch() -> tuple[torch.Tensor, ...]:
        return torch.randn(16, 3, 128, 128, device="cuda"), torch.randn(16, 1, 128, 128, device="cuda")

    return train(
        model, batch, lambda x, y: F.mse_loss(model(x), y), precision="fp32", optimizer="adam", clip=None
    )


class GraphLayer(nn.Module):
    """Messages along edges, summed at their ends."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.message = nn.Sequential(nn.Linear(2 * width, width), nn.SiLU(), nn.Linear(width, width))
        self.update = nn.Linear(2 * width, width)

    def forward(self, x: torch.Tensor, start: torch.Tensor, end: torch.Tensor) -> torch.Tensor:
        told = self.message(torch.cat((x[start], x[end]), -1))
        heard = torch.zeros_like(x).index_add(0, end, told)
        most = torch.zeros_like(x).scatter_reduce(0, end[:, None].expand_as(told), told, "amax")
        return x + self.update(torch.cat((heard, most), -1))


def fresh_graph_messages() -> Step:
    model = nn.ModuleList(GraphLayer(256) for _ in range(4)).to("cuda")

    def batch() -> tuple[torch.Tensor, ...]:
        edges = torch.randint(0, 60_000, (2, 400_000), device="cuda")
        return torch.randn(60_000, 256, device="cuda"), edges[0], edges[1]

    def loss_of(x: torch.Tensor, start: torch.Tensor, end: torch.Tensor) -> torch.Tensor:
        for layer in model:
            x = layer(x, start, end)
        return x.square().mean()

    return train(model, batch, loss_of, precision="fp32", clip=None)


def fresh_transformer_fp16() -> Step:
    """Torch's own encoder-decoder with padding and causal masks."""
    model = nn.Transformer(512, 8, 5, 5, 2048, batch_first=True).to("cuda")
    head = nn.Linear(512, 24000).to("cuda")
    table = nn.Embedding(24000, 512).to("cuda")
    whole = nn.ModuleList((model, head, table))
    causal = nn.Transformer.generate_square_subsequent_mask(200, device="cuda")

    def batch() -> tuple[torch.Tensor, ...]:
        made = torch.randint(1, 24000, (32, 400), device="cuda")
        made[::2, 150:200] = 0
        return made[:, :200], made[:, 200:]

    def loss_of(source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        out = model(
            table(source), table(target), tgt_mask=causal, src_key_padding_mask=source == 0,
            memory_key_padding_mask=source == 0, tgt_is_causal=True,
        )  # fmt: skip
        return F.cross_entropy(head(out).flatten(0, 1), target.flatten(), ignore_index=0, label_smoothing=0.1)

    return train(whole, batch, loss_of, precision="amp-fp16")


def fresh_decoder_compiled_layers() -> Step:
    """Only the blocks are compiled, each by itself."""
    model = decoder(with_changes(MODEST, layers=8))
    for block in model.blocks:
        block.compile()
    return train(model, lambda: ids(6, 1024), model, precision="bf16")
