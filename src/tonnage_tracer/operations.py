"""Distinct operations: an operation with the same shapes is described once and afterwards only pointed at.

A step makes tens of thousands of calls but only some hundred distinct ones, and everything costly (describing
tensors, asking torch what an operation returns) is done once per distinct call. The key is whatever can change the
result: the overload, shapes, strides, dtypes and devices of its tensors, and its other arguments with their types.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor

Described = list[Any]
"""A tensor as the trace writes it: [shape, stride, dtype, device]."""

_UNINTERESTING = frozenset(("generator", "device", "layout", "pin_memory", "non_blocking"))
_default_dtype = torch.get_default_dtype


class Signature:
    """Key of a call, and what was met while computing it."""

    __slots__ = ("has_fake", "has_real", "key", "num_known", "num_tensors")

    def __init__(self, func: Any, args: Any, kwargs: Any) -> None:
        self.key: tuple[Any, ...] | None = None
        self.has_fake = False
        self.has_real = False
        self.num_tensors = 0
        self.num_known = 0
        parts: list[Any] = [id(func), _default_dtype()]
        try:
            self._read(parts, args)
            if kwargs:
                for name, value in kwargs.items():
                    parts.append(name)
                    self._read(parts, (value,))
            self.key = tuple(parts)
        except (RuntimeError, NotImplementedError):
            self.key = None  # a layout without strides: such calls are rare enough to be described each time

    def _read(self, parts: list[Any], values: Any) -> None:
        for value in values:
            kind = type(value)
            if kind is FakeTensor:
                self.has_fake = True
                self.num_tensors += 1
                if "known_value" in value.__dict__:
                    self.num_known += 1
                parts += (value.shape, value.stride(), value.dtype, value.fake_device)
            elif kind is list or kind is tuple:
                parts.append(len(value))
                self._read(parts, value)
            elif isinstance(value, torch.Tensor):
                self.num_tensors += 1
                if isinstance(value, FakeTensor):
                    self.has_fake = True
                else:
                    self.has_real = True
                    self.num_known += 1
                parts += ("real", value.shape, value.stride(), value.dtype, value.device)
            else:
                parts += (kind, value)


class Operations:
    """Operations met so far, by signature."""

    def __init__(self) -> None:
        self.described: list[dict[str, Any]] = []
        self._indices: dict[Any, int] = {}

    def index(self, key: Any, func: Any, args: Any, kwargs: Any, out: Any) -> int:
        """Number of the operation, described now if it is new. `key` may be None: then it is always new."""
        found = None if key is None else self._indices.get(key)
        if found is not None:
            return found
        index = len(self.described)
        self.described.append(_describe(func, args, kwargs, out))
        if key is not None:
            self._indices[key] = index
        return index


def describe_tensor(tensor: torch.Tensor) -> Described:
    """A tensor as the trace writes it."""
    strided = tensor.layout == torch.strided
    return [
        list(tensor.shape),
        list(tensor.stride()) if strided else [],
        str(tensor.dtype).removeprefix("torch."),
        tensor.device.type,
    ]


def _describe(func: Any, args: Any, kwargs: Any, out: Any) -> dict[str, Any]:
    inputs: list[Described] = []
    scalars: dict[str, Any] = {}
    names = [argument.name for argument in func._schema.arguments]
    for name, value in [*zip(names, args, strict=False), *kwargs.items()]:
        if not _add_tensors(inputs, value) and name not in _UNINTERESTING:
            plain = _plain(value)
            if plain is not None:
                scalars[name] = plain
    outputs: list[Described] = []
    _add_tensors(outputs, out)
    described: dict[str, Any] = {"name": str(func), "inputs": inputs, "outputs": outputs}
    if scalars:
        described["scalars"] = scalars
    return described


def _add_tensors(found: list[Described], value: Any) -> bool:
    """Append the tensors of an argument or result; whether there were any."""
    if isinstance(value, torch.Tensor):
        found.append(describe_tensor(value))
        return True
    if isinstance(value, (list, tuple)):
        before = len(found)
        for each in value:  # every one of them: `any` would stop at the first
            _add_tensors(found, each)
        return len(found) > before
    return False


def _plain(value: Any) -> Any:
    """An argument as a JSON value, None where it says nothing."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    if isinstance(value, (torch.dtype, torch.memory_format)):
        return str(value).removeprefix("torch.")
    return None
