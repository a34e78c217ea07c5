"""`model.to("cuda")`, `.half()`, `.bfloat16()` on modules of fake tensors, as they behave on real ones.

Torch changes a real parameter in place (`param.data = moved`), so whoever holds it keeps the right one: a tied
weight, an optimizer made before the move, a hook. For fake tensors it swaps objects instead, which fails as soon
as anybody holds a weak reference. Changing fake parameters in place, too, keeps ties and references as they are.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Set
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.nn import Module

from .disguises import lazy

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
    lazy.move(module, fn)
    with (
        _without(module, "_parameters", fakes.keys() | lazy.lazy_names(module._parameters)),
        _without(module, "_buffers", lazy.lazy_names(module._buffers)),
    ):
        _torch_apply(module, fn, recurse=False)
    return module


@contextlib.contextmanager
def _without(module: Module, kind: str, names: Set[str]) -> Iterator[None]:
    """Keep some of a module's tensors out of sight; what happens to the others lasts."""
    every = getattr(module, kind)
    others = {name: tensor for name, tensor in every.items() if name not in names}
    setattr(module, kind, others)
    try:
        yield
    finally:
        every.update(others)
        setattr(module, kind, every)


def _become(tensor: Any, changed: Any) -> None:
    """Give a fake tensor the contents of another: `data` moves the storage, the pretended device is a field."""
    if changed is tensor:
        return
    tensor.data = changed
    tensor.fake_device = changed.fake_device
