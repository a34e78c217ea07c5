"""What an operation returns, remembered, so that torch is asked only once per distinct call.

Torch's fake tensors find out what an operation returns by walking through Python code, which takes most of a
trace's time. But the answer is a function of the call's signature. Three kinds of operations can be answered from
memory or by torch's C++ alone: those that return new tensors (make tensors of the same description), those that
return an argument (return it), and views (let C++ compute the view on the meta device). All others are always
handed to torch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode, in_kernel_invocation_manager

from .overloads import Overload

_NEW, _SAME, _LITERAL = range(3)
_Recipe = tuple[int, Any]
_INPLACE_VIEW = torch.Tag.inplace_view


class Results:
    """Answers by signature."""

    def __init__(self, mode: FakeTensorMode) -> None:
        self._mode = mode
        self._recipes: dict[Any, tuple[type | None, list[_Recipe]] | None] = {}

    def view(self, func: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Compute a view of a fake tensor."""
        device = args[0].fake_device
        with in_kernel_invocation_manager(self._mode):
            made = func(*args, **kwargs)
        if isinstance(made, torch.Tensor):
            return FakeTensor(self._mode, made, device)
        return [FakeTensor(self._mode, each, device) for each in made]

    def described(self, facts: Overload, func: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """The result of an operation torch's C++ can describe, NotImplemented where it takes more than that.

        Only for tensors of one GPU: what happens between devices is decided in Python.
        """
        tensors = [tensor for _, tensor in _tensors_of(args, kwargs)]
        if not tensors or any(
            type(each) is not FakeTensor or each.fake_device.type != "cuda" for each in tensors
        ):
            return NotImplemented
        if facts.casts:
            if set(kwargs) != {"dtype"}:
                return NotImplemented
            func = torch.empty_like
        try:
            with in_kernel_invocation_manager(self._mode):
                made = func(*args, **kwargs)
        except (RuntimeError, NotImplementedError):
            return NotImplemented  # some cases go through Python after all; a real mistake will be told there
        return FakeTensor(self._mode, made, tensors[0].fake_device)

    def remembered(self, key: Any, args: Any, kwargs: Any) -> tuple[bool, Any]:
        """(True, result) where this call's result is known by heart."""
        recipe = self._recipes.get(key)
        if recipe is None:
            return False, None
        container, parts = recipe
        if container is None:
            return True, self._make(parts[0], args, kwargs)
        return True, container(self._make(part, args, kwargs) for part in parts)

    def learn(self, key: Any, func: Any, args: Any, kwargs: Any, out: Any) -> None:
        """Remember what torch answered, if it can be answered from memory next time."""
        if key in self._recipes:
            return
        if _INPLACE_VIEW in func.tags or (type(out) in (list, tuple) and not out):
            self._recipes[key] = None
            return
        given = _tensors_of(args, kwargs)
        if type(out) in (list, tuple):
            parts = [_recipe(each, given) for each in out]
            unknown = None in parts or _share_storage(out)
            self._recipes[key] = None if unknown else (type(out), [part for part in parts if part])
        else:
            part = _recipe(out, given)
            self._recipes[key] = None if part is None else (None, [part])

    def _make(self, part: _Recipe, args: Any, kwargs: Any) -> Any:
        kind, what = part
        if kind == _NEW:
            shape, stride, dtype, device = what
            with torch._C._DisableTorchDispatch():
                elem = torch.empty_strided(shape, stride, dtype=dtype, device="meta")
            return FakeTensor(self._mode, elem, device)
        if kind == _SAME:
            return args[what] if isinstance(what, int) else kwargs[what]
        return what


def _tensors_of(args: Any, kwargs: Any) -> list[tuple[Any, torch.Tensor]]:
    """Tensor arguments with where they stand; those inside lists stand nowhere (None)."""
    found: list[tuple[Any, torch.Tensor]] = []
    for place, value in [*enumerate(args), *kwargs.items()]:
        if isinstance(value, torch.Tensor):
            found.append((place, value))
        elif isinstance(value, (list, tuple)):
            found += [(None, each) for each in value if isinstance(each, torch.Tensor)]
    return found


def _recipe(out: Any, given: list[tuple[Any, torch.Tensor]]) -> _Recipe | None:
    """How to make one result again, None where only torch knows."""
    if out is None or type(out) in (int, float, bool):
        return _LITERAL, out
    if type(out) is not FakeTensor or out.layout != torch.strided:
        return None
    for place, tensor in given:
        if tensor is out:
            return None if place is None else (_SAME, place)
    storage = out.untyped_storage()._cdata
    if any(
        tensor.untyped_storage()._cdata == storage for _, tensor in given if tensor.layout == torch.strided
    ):
        return None
    fresh = out.storage_offset() == 0 and not (out.is_conj() or out.is_neg()) and _fills_storage(out)
    return (_NEW, (tuple(out.shape), out.stride(), out.dtype, out.fake_device)) if fresh else None


def _share_storage(out: Any) -> bool:
    storages = [each.untyped_storage()._cdata for each in out if isinstance(each, torch.Tensor)]
    return len(set(storages)) < len(storages)


def _fills_storage(tensor: torch.Tensor) -> bool:
    """Whether a new strided tensor would get a storage of the same size."""
    if tensor.numel() == 0:
        return bool(tensor.untyped_storage().nbytes() == 0)
    extent = 1 + sum((size - 1) * step for size, step in zip(tensor.shape, tensor.stride(), strict=False))
    return bool(extent * tensor.element_size() == tensor.untyped_storage().nbytes())
