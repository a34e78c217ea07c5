"""Fake tensors that behave like real ones where scripts touch them directly.

Parameters are always fake, even small ones made on the CPU, so that they can become GPU parameters in place, as
real ones do. Formatting and listing a tensor reads its (assumed) value, an address is a number that differs from
storage to storage, and assigning `.data` moves a tensor between devices. A deep copy belongs to the same recording:
torch's own would copy what a fake tensor carries along, the mode it belongs to included.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensor

from .. import module_moves
from .patching import replaced

_real_new = nn.Parameter.__new__
_data = torch.Tensor.data
_torch_apply = nn.Module._apply


@contextlib.contextmanager
def disguise(recorder: Any) -> Iterator[None]:
    """Change parameters, and fake tensors' own methods."""

    def new(cls: Any, data: Any = None, requires_grad: bool = True) -> Any:
        if type(data) in (torch.Tensor, nn.Parameter) and data.device.type == "cpu":
            data = faked(recorder.mode, data)
        elif data is None:
            data = faked(recorder.mode, torch.empty(0))
        return _real_new(cls, data, requires_grad)

    with contextlib.ExitStack() as stack:
        stack.enter_context(replaced(nn.Parameter, __new__=new))
        stack.enter_context(replaced(nn.Module, _apply=module_moves._apply))
        stack.enter_context(
            replaced(
                FakeTensor,
                __format__=_format,
                tolist=lambda tensor: tensor.cpu().tolist(),
                numpy=lambda tensor, *, force=False: _numpy(tensor, force),
                data_ptr=_address,
                __deepcopy__=_deepcopy,
                data=property(_data.__get__, _set_data),
            )
        )
        yield


def faked(mode: Any, tensor: torch.Tensor) -> FakeTensor:
    """A fake tensor with the description of a real one."""
    with torch._C._DisableTorchDispatch():
        elem = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device="meta")
    return FakeTensor(mode, elem, tensor.device)


def _format(tensor: FakeTensor, specification: str) -> str:
    if tensor.dim() == 0 and specification:
        return format(tensor.item(), specification)
    return object.__format__(tensor, "")


def _numpy(tensor: FakeTensor, force: bool) -> Any:
    """As torch: only detached CPU tensors, unless forced. A fake CPU tensor is a large one; its value is unknown."""
    if not force and (tensor.fake_device.type != "cpu" or tensor.requires_grad):
        raise TypeError(f"can't convert {tensor.fake_device} tensor to numpy")
    with torch._C._DisableTorchDispatch():
        return torch.ones(tuple(tensor.shape), dtype=tensor.dtype).numpy()


def _address(tensor: FakeTensor) -> int:
    return int(tensor.untyped_storage()._cdata + tensor.storage_offset() * tensor.element_size())


def _deepcopy(tensor: FakeTensor, memo: dict[int, Any]) -> Any:
    """As torch copies: parameters without their gradient, other leaves with it and with what was hung on them."""
    if id(tensor) in memo:
        return memo[id(tensor)]
    if not tensor.is_leaf:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol"
        )
    with torch.no_grad():
        made = tensor.detach().clone(memory_format=torch.preserve_format)
    is_parameter = isinstance(tensor, nn.Parameter)
    copied: Any = (
        nn.Parameter(made, tensor.requires_grad)
        if is_parameter
        else made.requires_grad_(tensor.requires_grad)
    )
    memo[id(tensor)] = copied
    if not is_parameter:
        if tensor.grad is not None:
            copied.grad = _deepcopy(tensor.grad, memo)
        for name, value in tensor.__dict__.items():
            if name not in copied.__dict__:
                copied.__dict__[name] = copy.deepcopy(value, memo)
    return copied


def _set_data(tensor: FakeTensor, changed: Any) -> None:
    if not isinstance(changed, FakeTensor):
        changed = faked(tensor.fake_mode, changed)
    _data.__set__(tensor, changed)
    tensor.fake_device = changed.fake_device
    tensor.__dict__.pop("known_value", None)
