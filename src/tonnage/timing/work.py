"""What an operation asks of a device, before any device is named: arithmetic, bytes, and where it was measured.

`family` says whose measurements speak for it and `features` where it lies among them, in octaves (an operation
twice as large lies one further). The roofline alone would need neither; kernels miss it in ways that depend on
the operation and its shape, and are the same next time.
"""

from __future__ import annotations

import math
from typing import Literal

import msgspec

from tonnage.cluster.gpu_facts import Rate
from tonnage.memory.trace import Operation

Kind = Literal[
    "matrix", "attention", "convolution", "memory", "lists", "recurrent", "moving", "collective", "free"
]


class Arithmetic(msgspec.Struct, frozen=True):
    """Whether fp32 products may use the tensor cores' shorter format; torch's defaults."""

    matrix_tf32: bool = False
    convolution_tf32: bool = True

    @classmethod
    def of(cls, settings: dict[str, str]) -> Arithmetic:
        """As the traced process had it set."""
        return cls(
            matrix_tf32=settings.get("matmul.allow_tf32", "False") == "True",
            convolution_tf32=settings.get("cudnn.allow_tf32", "True") == "True",
        )


class Tiles(msgspec.Struct, frozen=True):
    """A product cut into pieces that multiprocessors work off in waves."""

    rows: float
    columns: float
    depth: float
    batch: float = 1.0


class Work(msgspec.Struct, frozen=True):
    """Arithmetic and traffic of one operation."""

    kind: Kind
    family: str
    features: tuple[float, ...] = ()
    flops: float = 0.0
    rate: Rate = "fp32"
    bytes: float = 0.0
    aside: float = 0.0
    """Bytes that kernels of their own move before and after: a layout turned into another and back."""
    kernels: float = 1.0
    tiles: Tiles | None = None
    steps: float = 0.0
    """Pieces that must wait for each other (rows of a running sum down the columns)."""
    strands: float = 0.0
    """Pieces that one block each works off, where they are few (a channel each); 0 where there are plenty."""
    strand_length: float = 0.0
    """Elements of such a piece."""


FREE = Work("free", "free", kernels=0.0)


def octaves(value: float) -> float:
    """A size on the scale that features use."""
    return math.log2(max(value, 1.0))


def base_name(operation: Operation) -> str:
    """`aten.add_.Tensor` is `add_`."""
    parts = operation.name.split(".")
    return parts[1] if len(parts) > 1 else operation.name


def rate_of(dtype: str, *, tf32: bool) -> Rate:
    """The arithmetic a product in this dtype runs in."""
    if dtype == "bfloat16":
        return "bf16"
    if dtype == "float16":
        return "fp16"
    if dtype.startswith("float8"):
        return "fp8"
    if dtype == "int8":
        return "int8"
    return "tf32" if tf32 else "fp32"


def numbers(operation: Operation, name: str) -> tuple[int, ...]:
    """A list of whole numbers among the plain arguments; empty where there is none."""
    value = operation.scalars.get(name)
    if isinstance(value, int):
        return (value,)
    if isinstance(value, list | tuple):
        return tuple(each for each in value if isinstance(each, int))
    return ()
