"""Recurrent layers on cuDNN: their C++ asks cuDNN itself for descriptors before the dispatcher sees them.

cuDNN cannot be had without a device, so `lstm`, `gru` and `rnn` do here what that C++ does on one: cast under
autocast, then call `_cudnn_rnn`, which `substitutes` describes.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch

from .patching import replaced

MODES = {"rnn_relu": 0, "rnn_tanh": 1, "lstm": 2, "gru": 3}

DROPOUT_STATE_PER_MULTIPROCESSOR = 2048 * 24
"""Bytes of cuDNN's random state: one generator per resident thread. Not published; from its size on a V100."""


@contextlib.contextmanager
def disguise() -> Iterator[None]:
    """Let recurrent layers on the GPU take cuDNN's path without cuDNN."""
    originals = {name: getattr(torch._VF, name) for name in MODES}
    states: dict[Any, Any] = {}
    changed = {name: _layer(name, original, states) for name, original in originals.items()}
    with replaced(torch._VF, **changed):
        yield
    states.clear()


def _layer(name: str, original: Callable[..., Any], states: dict[Any, Any]) -> Callable[..., Any]:
    def layer(data: Any, *rest: Any) -> Any:
        if data.device.type != "cuda" or not torch.backends.cudnn.is_acceptable(data):
            return original(data, *rest)
        return _run(name, data, rest, states)

    return layer


def _run(name: str, data: Any, rest: Any, states: dict[Any, Any]) -> Any:
    """The two calls of each layer: (hidden, weights, ..., batch_first), or (sizes, hidden, weights, ...) if packed."""
    is_packed = isinstance(rest[1], (torch.Tensor, tuple, list)) and isinstance(rest[2], (list, tuple))
    sizes: list[int] = []
    batch_first = False
    if is_packed:
        sizes = rest[0].tolist()
        hidden, weights, has_biases, layers, dropout, training, bidirectional = rest[1:]
    else:
        hidden, weights, has_biases, layers, dropout, training, bidirectional, batch_first = rest
    hx, cx = (hidden[0], hidden[1]) if name == "lstm" else (hidden, None)
    if torch.is_autocast_enabled("cuda"):
        dtype = torch.get_autocast_dtype("cuda")
        data, hx, cx, weights = _cast((data, hx, cx, list(weights)), dtype)
    buffer = weights[0].detach() if _is_flat(weights) or torch.is_autocast_enabled("cuda") else None
    width = hx.shape[2] if cx is None else cx.shape[2]
    projected = hx.shape[2] if cx is not None and cx.shape[2] != hx.shape[2] else 0
    with torch.autocast("cuda", enabled=False):
        out = torch._cudnn_rnn(
            data, weights, 4 if has_biases else 2, buffer, hx, cx, MODES[name], width, projected, layers,
            batch_first, dropout, training, bidirectional, sizes, _dropout_state(states, data, dropout, training),
        )  # fmt: skip
    return out[:3] if name == "lstm" else out[:2]


def _is_flat(weights: Any) -> bool:
    """Whether all weights lie in one buffer, as `flatten_parameters` leaves them (never in bfloat16)."""
    storages = {weight.untyped_storage()._cdata for weight in weights}
    return len(storages) == 1 and weights[0].dtype != torch.bfloat16


def _cast(value: Any, dtype: torch.dtype) -> Any:
    if isinstance(value, torch.Tensor):
        return value.to(dtype)
    return type(value)(_cast(each, dtype) for each in value) if isinstance(value, (list, tuple)) else value


def _dropout_state(states: dict[Any, Any], data: Any, dropout: float, training: bool) -> Any:
    """Random state of a device, made once and kept, when a layer first drops out."""
    if not dropout or not training:
        return None
    if data.device not in states:
        multiprocessors = torch.cuda.get_device_properties(data.device).multi_processor_count
        size = multiprocessors * DROPOUT_STATE_PER_MULTIPROCESSOR
        states[data.device] = torch.empty(size, dtype=torch.uint8, device=data.device)
    return states[data.device]
