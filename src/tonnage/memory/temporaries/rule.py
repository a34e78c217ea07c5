"""What a rule gives: blocks with a size, and their place among the operation's outputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import msgspec

from tonnage.memory.device import Device
from tonnage.memory.trace import Operation, TensorInfo

LAST = 1 << 20
"""More outputs than any operation has: after all of them, or until the operation ends."""

_ITEM_SIZES = {
    "float64": 8,
    "int64": 8,
    "uint64": 8,
    "complex64": 8,
    "complex128": 16,
    "float32": 4,
    "int32": 4,
    "uint32": 4,
    "float16": 2,
    "bfloat16": 2,
    "int16": 2,
    "uint16": 2,
}


class Temporary(msgspec.Struct, frozen=True):
    """One block: taken once `after` outputs exist, returned before output number `until` is made."""

    size: int
    after: int = LAST
    until: int = LAST
    is_optional: bool = False
    """Whether the operation finds another way where there is no room (cuDNN tries its next plan)."""


Temporaries = tuple[Temporary, ...]
Rule = Callable[[Operation, Device], Sequence[Temporary]]

NONE: Temporaries = ()


def item_size(dtype: str) -> int:
    """Bytes of one element; what is not listed (bool, int8, float8) has one."""
    return _ITEM_SIZES.get(dtype, 1)


def bytes_of(tensor: TensorInfo) -> int:
    """Bytes of a tensor's elements laid side by side."""
    return prod(tensor.shape) * item_size(tensor.dtype)


def is_in_order(tensor: TensorInfo) -> bool:
    """Whether a tensor's elements lie side by side in the order of its dimensions."""
    stride = 1
    for size, found in zip(reversed(tensor.shape), reversed(tensor.stride), strict=True):
        if size > 1 and found != stride:
            return False
        stride *= size
    return True
