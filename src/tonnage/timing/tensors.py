"""Bytes and counts of traced tensors: what a kernel must really read, not what a shape pretends.

A tensor seen through `expand` has a large shape and a stride of zero: its bytes are read once. That is why
traffic is counted from strides.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from tonnage.memory.trace import TensorInfo

_ELEMENT_BYTES = {
    "bool": 1, "uint8": 1, "int8": 1, "float8_e4m3fn": 1, "float8_e5m2": 1, "float8_e8m0fnu": 1,
    "int16": 2, "uint16": 2, "float16": 2, "bfloat16": 2,
    "int32": 4, "uint32": 4, "float32": 4, "complex32": 4,
    "int64": 8, "uint64": 8, "float64": 8, "complex64": 8, "complex128": 16,
}  # fmt: skip

FLOATING = ("bfloat16", "float16", "float32", "float64")


def element_bytes(dtype: str) -> int:
    """Bytes of one element; 4 where the dtype is unknown to us."""
    return _ELEMENT_BYTES.get(dtype, 4)


def count(tensor: TensorInfo) -> int:
    """Elements of its shape."""
    return math.prod(tensor.shape)


def full_bytes(tensor: TensorInfo) -> int:
    """Bytes of its shape."""
    return count(tensor) * element_bytes(tensor.dtype)


def read_bytes(tensor: TensorInfo) -> int:
    """Bytes behind it: dimensions of stride zero repeat the same memory."""
    if len(tensor.stride) != len(tensor.shape):
        return full_bytes(tensor)
    held = math.prod(
        size for size, step in zip(tensor.shape, tensor.stride, strict=True) if step or size <= 1
    )
    return held * element_bytes(tensor.dtype)


def total_read(tensors: Iterable[TensorInfo]) -> int:
    """Bytes behind all of them."""
    return sum(map(read_bytes, tensors))


def total_bytes(tensors: Iterable[TensorInfo]) -> int:
    """Bytes of all their shapes."""
    return sum(map(full_bytes, tensors))


def is_dense(tensor: TensorInfo) -> bool:
    """Whether its elements lie one behind the other in the order of the shape."""
    expected = 1
    for size, step in zip(reversed(tensor.shape), reversed(tensor.stride), strict=False):
        if size != 1 and step != expected:
            return False
        expected *= size
    return True


def is_packed(tensor: TensorInfo) -> bool:
    """Whether its elements fill their memory without holes or repeats, in whatever order."""
    expected = 1
    for step, size in sorted(zip(tensor.stride, tensor.shape, strict=False)):
        if size != 1 and step != expected:
            return False
        expected *= size if size != 1 else 1
    return True


def is_channels_last(tensor: TensorInfo) -> bool:
    """Whether an image lies with its channels innermost."""
    return len(tensor.shape) in (4, 5) and tensor.shape[1] > 1 and tensor.stride[1:2] == (1,)


def widest(tensors: Iterable[TensorInfo]) -> TensorInfo | None:
    """The one with the most elements."""
    return max(tensors, key=count, default=None)
