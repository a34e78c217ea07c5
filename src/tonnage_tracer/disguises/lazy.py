"""Lazy layers (`nn.LazyLinear`): parameters whose shape the first batch decides.

Torch makes them as empty tensors of a class of their own, which fake tensors do not know, and turns them into
parameters by changing their class in place. Here an uninitialized tensor is a plain empty one that remembers where
and as what it shall be; when the shape is known, a fake tensor takes its place in the same object, so that modules and
optimizers that hold it keep the right one.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.nn.parameter import UninitializedBuffer, UninitializedParameter, UninitializedTensorMixin
from torch.utils._python_dispatch import _disable_current_modes

from .patching import replaced


@contextlib.contextmanager
def disguise() -> Iterator[None]:
    """Let uninitialized tensors become fake ones."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(
            replaced(UninitializedTensorMixin, materialize=_materialize, __deepcopy__=_deepcopy)
        )
        stack.enter_context(replaced(UninitializedParameter, __new__=_new_parameter, __deepcopy__=_deepcopy))
        stack.enter_context(replaced(UninitializedBuffer, __new__=_new_buffer))
        yield


def move(module: Any, fn: Callable[..., Any]) -> None:
    """Apply a module's `.to(...)` to what its uninitialized tensors shall be."""
    for name in lazy_names(module._parameters) | lazy_names(module._buffers):
        tensor = module._parameters.get(name, module._buffers.get(name))
        device, dtype = tensor.wished
        moved = fn(torch.empty(0, device=device, dtype=dtype))
        tensor.wished = moved.device, moved.dtype


def lazy_names(tensors: dict[str, Any]) -> set[str]:
    """Which of a module's tensors have no shape yet."""
    return {name for name, tensor in tensors.items() if isinstance(tensor, UninitializedTensorMixin)}


def _empty(cls: Any, requires_grad: bool, device: Any, dtype: Any) -> Any:
    wished = torch.device(device or torch.get_default_device()), dtype or torch.get_default_dtype()
    with _disable_current_modes():
        tensor: Any = torch.Tensor._make_subclass(cls, torch.empty(0, device="cpu"), requires_grad)
    tensor.wished = wished
    return tensor


def _new_parameter(cls: Any, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> Any:
    return _empty(cls, requires_grad, device, dtype)


def _new_buffer(
    cls: Any, requires_grad: bool = False, device: Any = None, dtype: Any = None, persistent: bool = True
) -> Any:
    buffer = _empty(cls, requires_grad, device, dtype)
    buffer.persistent = persistent
    buffer._is_buffer = True
    return buffer


def _deepcopy(self: Any, memo: dict[int, Any]) -> Any:
    if id(self) not in memo:
        memo[id(self)] = type(self)(self.requires_grad, *self.wished)
    return memo[id(self)]


def _materialize(self: Any, shape: Any, device: Any = None, dtype: Any = None) -> None:
    made = torch.empty(shape, device=device or self.wished[0], dtype=dtype or self.wished[1])
    if isinstance(self, torch.nn.Parameter):
        made = torch.nn.Parameter(made, requires_grad=self.requires_grad)
    _take_place(self, made)


def _take_place(tensor: Any, made: Any) -> None:
    """What `torch.utils.swap_tensors` does, which refuses where anybody holds a weak reference: fake tensors do."""
    tensor.__class__, made.__class__ = made.__class__, tensor.__class__
    tensor.__dict__, made.__dict__ = made.__dict__, tensor.__dict__
    torch._C._swap_tensor_impl(tensor, made)
