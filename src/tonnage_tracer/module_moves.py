"""`model.to("cuda")`, `.half()`, `.bfloat16()` on modules of fake tensors, as they behave on real ones.

Torch changes a real parameter in place (`param.data = moved`), so whoever holds it keeps the right one: a tied
weight, an optimizer made before the move, a hook. For fake tensors it swaps objects instead, which fails as soon
as anybody holds a weak reference. Changing fake parameters in place, too, keeps ties and references as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.nn import Module

_torch_apply = Module._apply


def install() -> None:
    """From now on modules of fake tensors move as modules of real ones do."""
    Module._apply = _apply


def _apply(module: Module, fn: Callable[..., Any], recurse: bool = True) -> Module:
    """Torch's own `_apply` for everything but fake parameters, which are changed in place."""
    if recurse:
        for child in module.children():
            child._apply(fn)
    fakes: dict[str, Any] = {
        name: parameter for name, parameter in module._parameters.items() if isinstance(parameter, FakeTensor)
    }
    for parameter in fakes.values():
        gradient = parameter.grad
        with torch.no_grad():
            _become(parameter, fn(parameter))
            if gradient is not None:
                _become(gradient, fn(gradient))
    others = {name: parameter for name, parameter in module._parameters.items() if name not in fakes}
    every, module._parameters = module._parameters, others
    try:
        _torch_apply(module, fn, recurse=False)
    finally:
        every.update(others)
        module._parameters = every
    return module


def _become(tensor: Any, changed: Any) -> None:
    """Give a fake tensor the contents of another: `data` moves the storage, the pretended device is a field."""
    if changed is tensor:
        return
    tensor.data = changed
    tensor.fake_device = changed.fake_device
