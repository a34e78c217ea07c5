"""Values behind fake tensors, where they can be known: masks, indices, counters, routing.

A fake tensor has no data, yet some data is known: what was made from constants, ranges or seeded random numbers,
what was copied from a batch on the CPU, and everything computed from such tensors alone. For small tensors the
value is computed on the CPU beside the fake one. So a boolean mask selects as many elements as it would in a run,
and `.item()` of a counter is right.

A router's choice is not known, because weights are not. At initialisation it is close to random, so the indices
`topk` and `argmax` return are drawn at random: every loop over experts then sees the share of tokens it should expect.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor

from .overloads import Overload

_aten = torch.ops.aten

MAX_WHOLE = 1 << 24
"""Elements of integer and boolean tensors up to which values are followed; masks of experts are that large."""
MAX_REAL = 1 << 18
"""Elements of floating tensors up to which values are followed; they seldom decide a shape."""
MAX_ROUTES = 1 << 12
"""Largest dimension of a choice that is drawn at random; a router chooses among fewer."""


_FALSE_IN_A_HEALTHY_RUN = ("any", "isnan", "isinf", "lt", "gt", "ne")
"""What a single truth value of unknown data is taken to be false for; checks such as `all` come out true."""


class Known:
    """Whose value it is: shared by all views, void once something unknown was written, maybe assumed or drawn."""

    __slots__ = ("is_assumed", "is_drawn", "valid")

    def __init__(self, *, is_assumed: bool = False, is_drawn: bool = False) -> None:
        self.valid = True
        self.is_assumed = is_assumed
        self.is_drawn = is_drawn


def known_value(tensor: Any) -> torch.Tensor | None:
    """The value of a tensor on the CPU, None where it is unknown."""
    if not isinstance(tensor, FakeTensor):
        return tensor if isinstance(tensor, torch.Tensor) else None
    pair = tensor.__dict__.get("known_value")
    return pair[0] if pair is not None and pair[1].valid else None


def is_assumed(tensor: FakeTensor) -> bool:
    """Whether a known value rests on an assumption."""
    pair = tensor.__dict__.get("known_value")
    return pair is not None and pair[1].is_assumed


def is_drawn(tensor: Any) -> bool:
    """Whether a known value follows from a choice that was drawn at random."""
    pair = tensor.__dict__.get("known_value") if isinstance(tensor, FakeTensor) else None
    return pair is not None and pair[1].valid and pair[1].is_drawn


class KnownValues:
    """Follows values through operations on the GPU's fake tensors."""

    def __init__(self, on_choice: Callable[[], None]) -> None:
        self._on_choice = on_choice
        self._random = torch.Generator().manual_seed(0)

    def follow(
        self, facts: Overload, func: Any, args: Any, kwargs: Any, out: Any, *, all_known: bool
    ) -> None:
        """After an operation on known tensors: compute its result, or forget what it wrote to."""
        if facts.keeps_values:
            return
        if all_known:
            self._compute(func, args, kwargs, out)
        elif facts.mutates:
            _forget_written(func, args, kwargs)

    def assume(self, facts: Overload, out: FakeTensor) -> None:
        """After an operation on unknown tensors that made one number: a healthy run's."""
        value: Any = 1
        if out.dtype is torch.bool:
            value = facts.name not in _FALSE_IN_A_HEALTHY_RUN
        with torch._C._DisableTorchDispatch():
            made = torch.tensor(value, dtype=out.dtype)
        out.__dict__["known_value"] = (made, Known(is_assumed=True))

    def begin(self, facts: Overload, func: Any, args: Any, kwargs: Any, out: Any) -> None:
        """After an operation that knows its result by itself: a constant, a range, a choice."""
        if facts.chooses:
            self._choose(func, args, out)
        elif _is_small(out):
            self._compute(func, args, kwargs, out, shapes_only=True)

    def _compute(self, func: Any, args: Any, kwargs: Any, out: Any, *, shapes_only: bool = False) -> None:
        try:
            owner = _owner(func, args, kwargs)
            values = _on_cpu(args, shapes_only=shapes_only)
            named = {name: _on_cpu(value) for name, value in kwargs.items() if name != "generator"}
            if "device" in named:
                named["device"] = torch.device("cpu")
            named.pop("pin_memory", None)
            named.pop("non_blocking", None)
            with torch._C._DisableTorchDispatch():
                value = func(*values, **named)
        except Exception:
            _forget_written(func, args, kwargs)  # e.g. a dtype the CPU has no kernel for
            return
        _attach(out, value, owner)

    def _choose(self, func: Any, args: Any, out: Any) -> None:
        """Draw the indices a choice returns; the values chosen stay unknown."""
        source = args[0]
        indices = out if isinstance(out, torch.Tensor) else out[1]
        if func is _aten.argmax.default:
            dim, count = (args[1] if len(args) > 1 else None), 1
        else:
            dim, count = (args[2] if func is _aten.topk.default and len(args) > 2 else -1), 1
            if func is _aten.topk.default:
                count = args[1]
            elif len(args) > 1:
                dim = args[1]
        if dim is None or source.dim() == 0 or source.shape[dim] > MAX_ROUTES or source.numel() > MAX_WHOLE:
            return
        with torch._C._DisableTorchDispatch():
            drawn = torch.rand(tuple(source.shape), generator=self._random).topk(count, dim).indices
            drawn = drawn.reshape(tuple(indices.shape)).to(indices.dtype)
        indices.__dict__["known_value"] = (drawn, Known(is_drawn=True))
        if count > 1 or source.shape[dim] <= 1024:
            self._on_choice()


def _owner(func: Any, args: Any, kwargs: Any) -> Known:
    """A view shares the fate of what it is a view of; anything else has its own, as sure as what it is made from."""
    if (
        args
        and isinstance(args[0], FakeTensor)
        and any(each.alias_info is not None for each in func._schema.returns)
    ):
        pair = args[0].__dict__.get("known_value")
        if pair is not None:
            return pair[1]  # type: ignore[no-any-return]
    made_from = list(_fakes((*args, *kwargs.values())))
    return Known(is_assumed=any(map(is_assumed, made_from)), is_drawn=any(map(is_drawn, made_from)))


def _fakes(values: Any) -> Iterator[FakeTensor]:
    for value in values:
        if isinstance(value, FakeTensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _fakes(value)


def _is_small(out: Any) -> bool:
    tensors = [out] if isinstance(out, torch.Tensor) else out
    return all(
        each.numel() <= (MAX_REAL if each.dtype.is_floating_point or each.dtype.is_complex else MAX_WHOLE)
        for each in tensors
        if isinstance(each, torch.Tensor)
    )


def _on_cpu(value: Any, shapes_only: bool = False) -> Any:
    """An argument with fake tensors replaced by their values."""
    if isinstance(value, FakeTensor):
        pair = value.__dict__.get("known_value")
        if pair is not None and pair[1].valid:
            return pair[0]
        if shapes_only:
            with torch._C._DisableTorchDispatch():
                return torch.empty(tuple(value.shape), dtype=value.dtype)
        raise LookupError("unknown")
    if isinstance(value, (list, tuple)):
        return type(value)(_on_cpu(each, shapes_only) for each in value)
    return value


def _attach(out: Any, value: Any, owner: Known) -> None:
    if isinstance(out, FakeTensor):
        if isinstance(value, torch.Tensor) and value.shape == out.shape and _is_small(out):
            out.__dict__["known_value"] = (value, owner)
    elif isinstance(out, (list, tuple)) and isinstance(value, (list, tuple)):
        for one, other in zip(out, value, strict=False):
            _attach(one, other, owner)


def _forget_written(func: Any, args: Any, kwargs: Any) -> None:
    """Something unknown was written to these arguments, and so to all views of them."""
    for argument, value in [
        *zip(func._schema.arguments, args, strict=False),
        *((each, kwargs[each.name]) for each in func._schema.arguments if each.name in kwargs),
    ]:
        if argument.alias_info is not None and argument.alias_info.is_write:
            for tensor in value if isinstance(value, (list, tuple)) else (value,):
                if isinstance(tensor, FakeTensor) and "known_value" in tensor.__dict__:
                    tensor.__dict__["known_value"][1].valid = False
