"""The self-test: does this torch, behind the virtual GPU, decide as it would on the real one?

Everything exact mode says rests on a handful of behaviours that torch does not promise: a later version may
change any of them silently and the figures would be wrong without an error. So each is shown to hold in the very
process that is about to trace, on a model of a few numbers, and the process refuses to go on otherwise.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn import functional
from torch.utils._python_dispatch import TorchDispatchMode

from . import module_moves
from .disguises import optimizers
from .virtual_gpu import VirtualGpuError


def require() -> None:
    """Refuse to go on unless every behaviour holds."""
    failed = [(name, said) for name, said in report().items() if said != "ok"]
    if not failed:
        return
    name, said = failed[0]
    seen = said.splitlines()[0][:160]
    more = f", and {len(failed) - 1} more" if len(failed) > 1 else ""
    raise VirtualGpuError(
        "self-test", f"torch {torch.__version__} fails the self-test: {name!r} does not hold ({seen}){more}"
    )


def report() -> dict[str, str]:
    """Every behaviour with `ok` or what was seen instead."""
    module_moves.install()
    outcomes: dict[str, str] = {}
    with FakeTensorMode(allow_non_fake_inputs=True), _Names() as seen:
        for check in _CHECKS:
            seen.clear()
            name = (check.__doc__ or "").rstrip(".")
            try:
                outcomes[name] = check(seen) or "ok"
            except Exception as failure:  # whatever it is, it is an answer
                outcomes[name] = f"{type(failure).__name__}: {failure}"
    # Torch remembers what "cuda" meant: after torch.cuda.set_device(3) these answers would be of another device.
    FakeTensorMode.cache_clear()
    return outcomes


class _Names(TorchDispatchMode):  # type: ignore[misc]
    """The names of the operations that ran."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.seen.append(str(func))
        return func(*args, **(kwargs or {}))

    def clear(self) -> None:
        self.seen.clear()

    def __contains__(self, part: str) -> bool:
        return any(part in name for name in self.seen)


class _Tied(nn.Module):  # type: ignore[misc]
    """A language model of one attention layer whose output weights are its input's."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(128, 64)
        self.mix = nn.Linear(64, 192)
        self.out = nn.Linear(64, 128, bias=False)
        self.out.weight = self.words.weight

    def forward(self, ids: Any) -> Any:
        query, key, value = self.mix(self.words(ids)).view(2, 16, 3, 1, 64).permute(2, 0, 3, 1, 4)
        attended = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.out(attended.transpose(1, 2).reshape(2, 16, 64))


def _device(_: _Names) -> str:
    """The GPU is the one asked for."""
    found = torch.cuda.get_device_properties(0)
    seen = (
        found.name,
        str(found.total_memory),
        f"{found.major}.{found.minor}",
        str(found.multi_processor_count),
    )
    asked = tuple(os.environ[f"TONNAGE_GPU_{part}"] for part in ("NAME", "MEMORY", "COMPUTE", "SMS"))
    return "" if torch.cuda.is_available() and seen == asked else f"asked for {asked}, torch sees {seen}"


def _moves(_: _Names) -> str:
    """Modules move to the GPU with ties and references kept."""
    model = _Tied()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model.to("cuda").to(_half())
    held = optimizer.param_groups[0]["params"][0]
    weight = model.words.weight
    kept = model.out.weight is weight and held is weight and isinstance(weight, nn.Parameter)
    return (
        ""
        if kept and weight.device.type == "cuda" and weight.dtype == _half()
        else f"{weight.device}, {kept}"
    )


def _autocast(_: _Names) -> str:
    """Autocast is on."""
    layer = nn.Linear(8, 8, device="cuda")
    with torch.autocast("cuda", _half()):
        made = layer(torch.empty(4, 8, device="cuda")).dtype
    return "" if made == _half() else f"a linear layer under autocast made {made}"


def _attention(seen: _Names) -> str:
    """Attention takes a fused kernel of the GPU."""
    shape = (1, 2, 128, 64)
    query = torch.empty(shape, device="cuda", dtype=_half(), requires_grad=True)
    functional.scaled_dot_product_attention(query, query, query, is_causal=True)
    fused = ("cudnn_attention", "flash_attention") if _compute() >= (8, 0) else ("efficient_attention",)
    return "" if any(kernel in seen for kernel in fused) else f"ran {seen.seen}"


def _training(seen: _Names) -> str:
    """A step runs forward, backward and the optimizer's multi-tensor kernels."""
    model = _Tied().to("cuda")
    optimizer = torch.optim.AdamW(model.parameters())
    ids = torch.randint(0, 128, (2, 16), device="cuda")
    functional.cross_entropy(model(ids).flatten(0, 1), ids.flatten()).backward()
    with optimizers.disguise():
        optimizer.step()
    devices = {parameter.grad.device.type for parameter in model.parameters()}
    return (
        "" if devices == {"cuda"} and "_foreach" in seen else f"gradients on {devices}, ran {seen.seen[-8:]}"
    )


def _lifetimes(_: _Names) -> str:
    """A storage is seen to die when its last tensor does."""
    made = torch.empty(64, 64, device="cuda")
    view = made.view(-1)
    died = weakref.ref(made.untyped_storage())
    size = made.untyped_storage().nbytes()
    del made
    early = died() is None
    del view
    return (
        ""
        if not early and died() is None and int(size) == 16384
        else f"early={early}, late={died() is not None}"
    )


def _streams(_: _Names) -> str:
    """Streams and events can be used."""
    side, event = torch.cuda.Stream(), torch.cuda.Event(enable_timing=True)
    with torch.cuda.stream(side):
        inside = torch.cuda.current_stream() == side
    event.record()
    side.wait_event(event)
    torch.cuda.synchronize()
    return "" if inside else "a stream did not become the current one"


_CHECKS: tuple[Callable[[_Names], str], ...] = (
    _device,
    _moves,
    _autocast,
    _attention,
    _training,
    _lifetimes,
    _streams,
)


def _compute() -> tuple[int, int]:
    major, minor = torch.cuda.get_device_capability()
    return int(major), int(minor)


def _half() -> Any:
    """The 16-bit type people train in on this GPU."""
    return torch.bfloat16 if _compute() >= (8, 0) else torch.float16
