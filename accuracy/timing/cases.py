"""One thing to time: a dispatcher operation and how to make its arguments; and how it is written down.

The record has the form of `Operation` in a trace (name, tensors in order with lists flattened, the plain
arguments by name), so that the model under fit reads measurements and traces alike.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

Arguments = tuple[tuple[Any, ...], dict[str, Any]]


@dataclass(frozen=True)
class Case:
    """An operation, a builder of its arguments, and whether it is timed with inputs that no cache holds."""

    section: str
    op: Any
    build: Callable[..., Any]
    keywords: dict[str, Any] = field(default_factory=dict)
    cold: bool = False
    kernels: int = 4
    tf32: bool = False


def tensor(shape: Sequence[int], dtype: torch.dtype, device: str) -> torch.Tensor:
    """Random data: zeros run faster than anything real."""
    if dtype in (torch.int64, torch.int32):
        return torch.randint(0, 100, tuple(shape), dtype=dtype, device=device)
    if dtype is torch.bool:
        return torch.randint(0, 2, tuple(shape), device=device).bool()
    return torch.randn(tuple(shape), dtype=dtype, device=device)


def described(op: Any, arguments: Sequence[Any], keywords: dict[str, Any], result: Any) -> dict[str, Any]:
    """The operation as a trace would write it."""
    inputs: list[Any] = []
    scalars: dict[str, Any] = {}
    schema = op._schema.arguments
    named = dict(zip((argument.name for argument in schema), arguments, strict=False)) | keywords
    for name, value in named.items():
        tensors = list(_tensors(value))
        if tensors:
            inputs.extend(_info(each) for each in tensors)
        elif value is not None:
            scalars[name] = _plain(value)
    outputs = [_info(each) for each in _tensors(result)]
    return {"name": str(op), "inputs": inputs, "outputs": outputs, "scalars": scalars}


def _tensors(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _tensors(each)


def _info(value: torch.Tensor) -> list[Any]:
    kind = str(value.dtype).removeprefix("torch.")
    return [list(value.shape), list(value.stride()), kind, value.device.type]


def _plain(value: Any) -> Any:
    if isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return str(value).removeprefix("torch.")
