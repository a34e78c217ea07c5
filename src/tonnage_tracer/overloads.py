"""What is true of an operation whatever its arguments, found out once.

A dispatch mode is asked about every operation, so these facts are kept by the overload's identity: overloads live
as long as torch does, and hashing one runs Python code.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from .accumulation import IN_PLACE
from .orders import ORDERS

_aten = torch.ops.aten
Handler = Callable[[Any, Any, dict[str, Any]], Any]

_MADE_FROM_NOTHING = frozenset((
    "zeros", "ones", "full", "arange", "randint", "rand", "randn", "randperm", "scalar_tensor", "eye", "linspace",
    "tril_indices", "triu_indices", "zeros_like", "ones_like", "full_like", "rand_like", "randn_like",
    "randint_like", "new_zeros", "new_ones", "new_full",
))  # fmt: skip
_CHOICES = ("aten.topk.default", "aten.argmax.default", "aten.max.dim")
_RESIZING = ("resize_", "set_", "resize_as_", "_resize_output_")
_KEEPS_VALUES = ("aten._amp_foreach_non_finite_check_and_unscale_.default",)
_DESCRIBED_IN_CPP = frozenset((
    "mm", "addmm", "bmm", "baddbmm", "add", "sub", "mul", "div", "neg", "exp", "pow", "rsqrt", "silu", "gelu",
    "sigmoid", "tanh", "sum", "mean", "cat", "_softmax", "_log_softmax", "silu_backward", "gelu_backward",
    "sigmoid_backward", "tanh_backward", "threshold_backward", "_softmax_backward_data",
))  # fmt: skip
"""Operations whose results torch describes in C++ alone, layout included, once all tensors are on one device."""
_INPLACE_VIEW = torch.Tag.inplace_view


class Overload:
    """Facts of one overload."""

    __slots__ = (
        "casts",
        "chooses",
        "handler",
        "is_described_in_cpp",
        "is_device_question",
        "is_from_nothing",
        "is_host_answer",
        "is_view",
        "keeps_values",
        "makes_in_order",
        "may_be_in_place",
        "mutates",
        "name",
        "resizes",
    )  # fmt: skip

    def __init__(self, func: Any, handler: Handler | None) -> None:
        full = str(func)
        schema = getattr(func, "_schema", None)  # higher-order operators have none
        self.name = schema.name.partition("::")[2] if schema is not None else full
        self.handler = handler
        self.is_device_question = full == "prim.device.default"
        self.is_host_answer = self.name in ("is_pinned", "_pin_memory")
        self.is_view = schema is not None and _only_views(func)
        self.mutates = bool(schema is not None and schema.is_mutable)
        self.is_described_in_cpp = (
            full.startswith("aten.") and self.name in _DESCRIBED_IN_CPP and not self.mutates
        )
        self.casts = full == "aten._to_copy.default"
        self.is_from_nothing = self.name in _MADE_FROM_NOTHING
        self.chooses = full in _CHOICES
        self.keeps_values = full in _KEEPS_VALUES
        self.resizes = self.name in _RESIZING
        self.makes_in_order = ORDERS.get(full, ())
        self.may_be_in_place = func in IN_PLACE


class Overloads:
    """Facts of all overloads met."""

    def __init__(self, handlers: dict[str, Handler]) -> None:
        self._handlers = handlers
        self._facts: dict[int, Overload] = {}

    def of(self, func: Any) -> Overload:
        """Facts of an overload."""
        found = self._facts.get(id(func))
        if found is None:
            found = self._facts[id(func)] = Overload(func, self._handlers.get(str(func)))
        return found


def _only_views(func: Any) -> bool:
    """Whether the overload returns aliases of its first argument and writes nothing."""
    if func.namespace != "aten" or _INPLACE_VIEW in func.tags:
        return False
    returns, arguments = func._schema.returns, func._schema.arguments
    return (
        bool(returns)
        and bool(arguments)
        and all(each.alias_info is not None and not each.alias_info.is_write for each in returns)
        and arguments[0].alias_info is not None
        and not any(each.alias_info is not None and each.alias_info.is_write for each in arguments)
    )
