"""Steps so small that the GPU always waits: what the host alone needs for each operation it asks for.

Python, the module calls, the dispatcher and autograd cost microseconds per operation and decide how long small
models take. A sum over operations can be fitted to these times because each step's operations are counted by
phase and name, once, with a dispatch mode, and then timed without it.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.nn import functional
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.checkpoint import checkpoint

Loss = Callable[[], torch.Tensor]


class Counting(TorchDispatchMode):  # type: ignore[misc]
    """Counts operations by name."""

    def __init__(self) -> None:
        super().__init__()
        self.counts: Counter[str] = Counter()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.counts[str(func)] += 1
        return func(*args, **(kwargs or {}))


@dataclass
class Small:
    """A model, what it computes, and how it is stepped."""

    name: str
    model: nn.Module
    loss: Loss
    optimizer: torch.optim.Optimizer
    amp: bool
    clip: bool


class Block(nn.Module):  # type: ignore[misc]
    """A transformer block with rotary embeddings, as people write it themselves."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.before, self.after = nn.RMSNorm(width), nn.RMSNorm(width)
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.gate, self.up = nn.Linear(width, 2 * width, bias=False), nn.Linear(width, 2 * width, bias=False)
        self.down = nn.Linear(2 * width, width, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        parts = self.qkv(self.before(x)).view(batch, length, 3, self.heads, -1).unbind(2)
        q, k, v = (part.transpose(1, 2) for part in parts)
        half = q.shape[-1] // 2
        q = torch.cat((-q[..., half:], q[..., :half]), -1) + q
        attended = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(attended.transpose(1, 2).reshape(batch, length, width))
        y = self.after(x)
        return x + self.down(functional.silu(self.gate(y)) * self.up(y))


class Language(nn.Module):  # type: ignore[misc]
    """Embedding, blocks, head; blocks recomputed in the backward where asked."""

    def __init__(self, *, recomputed: bool) -> None:
        super().__init__()
        self.recomputed = recomputed
        self.embedding = nn.Embedding(512, 128)
        self.blocks = nn.ModuleList(Block(128, 4) for _ in range(8))
        self.head = nn.Linear(128, 512, bias=False)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.embedding(ids)
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False) if self.recomputed else block(x)
        logits = self.head(x).flatten(0, 1)
        return functional.cross_entropy(logits.float(), ids.flatten())


def small_steps(device: str) -> Iterator[Callable[..., Small]]:
    """Builders of about 25 steps: our own blocks, transformers and torchvision, all optimizers."""
    for recomputed, amp, kind in [
        (False, False, "adamw"),
        (False, True, "adamw"),
        (True, True, "fused"),
        (False, False, "loop"),
        (False, False, "sgd"),
    ]:
        yield lambda r=recomputed, a=amp, o=kind: _language(device, r, a, o)
    for name in ("bert", "gpt2", "t5", "llama"):
        for amp, kind in ((False, "adamw"), (True, "fused")):
            yield lambda n=name, a=amp, o=kind: _transformer(device, n, a, o)
    for name in (
        "resnet18",
        "resnet50",
        "convnext_tiny",
        "efficientnet_b0",
        "mobilenet_v3_small",
        "vit_b_16",
        "swin_t",
    ):
        for amp, kind in ((False, "sgd"), (True, "adamw")):
            yield lambda n=name, a=amp, o=kind: _vision(device, n, a, o)
    yield lambda: _perceptron(device)


def load_libraries() -> None:
    """Imports what takes long, so that it is not taken for a step."""
    import torchvision
    import transformers

    transformers.logging.set_verbosity_error()
    transformers.LlamaForCausalLM, transformers.T5ForConditionalGeneration, torchvision.models.swin_t  # noqa: B018


def _optimizer(kind: str, model: nn.Module) -> torch.optim.Optimizer:
    weights = list(model.parameters())
    if kind == "sgd":
        return torch.optim.SGD(weights, 1e-3, momentum=0.9, foreach=True)
    if kind == "fused":
        return torch.optim.AdamW(weights, 1e-4, fused=True)
    return torch.optim.AdamW(weights, 1e-4, foreach=kind != "loop")


def _language(device: str, recomputed: bool, amp: bool, kind: str) -> Small:
    model = Language(recomputed=recomputed).to(device)
    ids = torch.randint(0, 512, (1, 16), device=device)
    name = f"language-{'recomputed-' if recomputed else ''}{'amp-' if amp else ''}{kind}"
    return Small(name, model, lambda: model(ids), _optimizer(kind, model), amp, True)


def _vision(device: str, name: str, amp: bool, kind: str) -> Small:
    from torchvision import models

    model = getattr(models, name)().to(device).train()
    side = 224 if name in ("vit_b_16", "swin_t") else 64
    image, target = torch.randn(2, 3, side, side, device=device), torch.randint(0, 1000, (2,), device=device)
    return Small(
        f"{name}-{'amp-' if amp else ''}{kind}",
        model,
        lambda: functional.cross_entropy(model(image), target),
        _optimizer(kind, model),
        amp,
        False,
    )


def _transformer(device: str, name: str, amp: bool, kind: str) -> Small:
    import transformers

    size = {"hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 6, "num_attention_heads": 4}
    if name == "bert":
        model = transformers.BertForMaskedLM(transformers.BertConfig(vocab_size=1000, **size))
    elif name == "gpt2":
        config = transformers.GPT2Config(vocab_size=1000, n_embd=128, n_layer=6, n_head=4, use_cache=False)
        model = transformers.GPT2LMHeadModel(config)
    elif name == "t5":
        config = transformers.T5Config(
            vocab_size=1000, d_model=128, d_kv=32, d_ff=256, num_layers=4, num_heads=4, use_cache=False
        )
        config.decoder_start_token_id = config.pad_token_id = 0
        model = transformers.T5ForConditionalGeneration(config)
    else:
        model = transformers.LlamaForCausalLM(
            transformers.LlamaConfig(vocab_size=1000, num_key_value_heads=2, use_cache=False, **size)
        )
    model = model.to(device).train()
    ids = torch.randint(1, 1000, (1, 16), device=device)
    return Small(
        f"{name}-{'amp-' if amp else ''}{kind}",
        model,
        lambda: model(input_ids=ids, labels=ids).loss,
        _optimizer(kind, model),
        amp,
        True,
    )


def _perceptron(device: str) -> Small:
    layers: list[nn.Module] = []
    for _ in range(12):
        layers += [nn.Linear(64, 64), nn.ReLU(), nn.Dropout(0.1)]
    model = nn.Sequential(*layers).to(device)
    x = torch.randn(8, 64, device=device)
    return Small(
        "perceptron-adamw", model, lambda: model(x).square().mean(), _optimizer("adamw", model), False, False
    )


def timed_phases(small: Small, device: str, *, times: int = 7) -> dict[str, Any]:
    """Median seconds of the host per phase, the whole step synchronised, and the operations of each phase."""
    phases = _phases(small, device)
    for _ in range(3):
        for run in phases.values():
            run()
    _wait(device)
    counts: dict[str, dict[str, int]] = {}
    modules = 0

    def entered(_module: Any, _inputs: Any) -> None:
        nonlocal modules
        modules += 1

    hook = nn.modules.module.register_module_forward_pre_hook(entered)
    for phase, run in phases.items():
        with Counting() as counting:
            run()
        counts[phase] = dict(counting.counts)
    hook.remove()
    _wait(device)
    seconds: dict[str, list[float]] = {phase: [] for phase in [*phases, "whole"]}
    for _ in range(times):
        for phase, run in phases.items():
            _wait(device)
            begin = time.perf_counter()
            run()
            seconds[phase].append(time.perf_counter() - begin)
        _wait(device)
        begin = time.perf_counter()
        for run in phases.values():
            run()
        _wait(device)
        seconds["whole"].append(time.perf_counter() - begin)
    medians = {phase: sorted(values)[len(values) // 2] for phase, values in seconds.items()}
    tensors = sum(1 for _ in small.model.parameters())
    return {
        "name": small.name,
        "seconds": medians,
        "operations": counts,
        "modules": modules,
        "parameters": tensors,
        "amp": small.amp,
    }


def _phases(small: Small, device: str) -> dict[str, Callable[[], object]]:
    held: list[torch.Tensor] = []
    weights = list(small.model.parameters())

    def forward() -> None:
        held.clear()
        with torch.autocast(device, torch.bfloat16, enabled=small.amp):
            held.append(small.loss())

    def backward() -> None:
        held[0].backward()

    phases: dict[str, Callable[[], object]] = {"forward": forward, "backward": backward}
    if small.clip:
        phases["clip"] = lambda: nn.utils.clip_grad_norm_(weights, 1.0, foreach=True)
    phases["optimizer"] = small.optimizer.step
    phases["zero"] = lambda: small.optimizer.zero_grad(set_to_none=True)
    return phases


def _wait(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()
