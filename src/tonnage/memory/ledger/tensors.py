"""Tensors that hold no numbers: a shape, strides, a dtype and a counted reference to a block of memory.

The ledger of saved tensors is not typed in by hand. Each architecture is written down once as a short program
over these tensors, and Python's own reference counting frees a block exactly where eager PyTorch would: when the
last variable, saved slot or gradient that names it goes away. Strides are kept because they decide whether a
`reshape` is free or a copy, which is worth several per cent of a transformer.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tonnage.memory.ledger.autograd import Node
    from tonnage.memory.ledger.machine import Machine

Shape = tuple[int, ...]

BYTES = {"float32": 4, "bfloat16": 2, "float16": 2, "int64": 8, "int32": 4, "bool": 1, "uint8": 1}
"""Size of one element."""

_remembered = lru_cache(maxsize=16384)
"""A step asks the same of the same few shapes over and over."""


class Storage:
    """A block of device memory; it is given back when nothing refers to it any more."""

    __slots__ = ("block", "machine")

    def __init__(self, machine: Machine, size: int, label: str) -> None:
        self.machine = machine
        self.block = machine.tape.allocate(size, label)

    @classmethod
    def of(cls, machine: Machine, block: int) -> Storage:
        """A block that is on the tape already."""
        made = cls.__new__(cls)
        made.machine, made.block = machine, block
        return made

    def __del__(self) -> None:
        self.machine.tape.free(self.block)


class Tensor:
    """A view of a storage, and the graph node that made it."""

    __slots__ = (
        "accumulator",
        "dtype",
        "grad",
        "label",
        "leaf",
        "node",
        "port",
        "shape",
        "storage",
        "stride",
    )

    def __init__(self, storage: Storage, shape: Shape, stride: Shape, dtype: str, label: str = "") -> None:
        self.storage = storage
        self.shape = shape
        self.stride = stride
        self.dtype = dtype
        self.label = label
        self.node: Node | None = None
        self.port = 0
        self.leaf = False
        self.grad: Tensor | None = None
        self.accumulator: Node | None = None

    @property
    def machine(self) -> Machine:
        return self.storage.machine

    @property
    def requires_grad(self) -> bool:
        return self.leaf or self.node is not None

    @property
    def numel(self) -> int:
        return count(self.shape)

    def detached(self) -> Tensor:
        """The same memory without its history."""
        return Tensor(self.storage, self.shape, self.stride, self.dtype, self.label)


@_remembered
def count(shape: Shape) -> int:
    """Number of elements of a shape."""
    total = 1
    for size in shape:
        total *= size
    return total


@_remembered
def dense(shape: Shape) -> Shape:
    """Strides of a contiguous tensor."""
    strides = []
    step = 1
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))


@_remembered
def is_contiguous(shape: Shape, stride: Shape) -> bool:
    """Whether the elements lie in order without gaps; dimensions of one element do not matter."""
    step = 1
    for size, given in zip(reversed(shape), reversed(stride), strict=True):
        if size != 1 and given != step:
            return False
        step *= size
    return True


@_remembered
def dense_like(shape: Shape, stride: Shape) -> Shape:
    """Strides without gaps in the same order of dimensions: what an elementwise result gets."""
    if is_contiguous(shape, stride):
        return dense(shape)
    order = sorted(range(len(shape)), key=lambda i: (stride[i], shape[i]))
    strides = [0] * len(shape)
    step = 1
    for i in order:
        strides[i] = step
        step *= shape[i]
    return tuple(strides)


@_remembered
def viewed(shape: Shape, stride: Shape, new: Shape) -> Shape | None:
    """Strides with which the same memory can be read as `new`; None where only a copy can."""
    if is_contiguous(shape, stride):
        return dense(new)
    kept = [(size, step) for size, step in zip(shape, stride, strict=True) if size != 1]
    runs: list[list[int]] = []
    for size, step in kept:
        if runs and runs[-1][1] == size * step:
            runs[-1][0] *= size
            runs[-1][1] = step
        else:
            runs.append([size, step])
    strides = [1] * len(new)
    run = len(runs) - 1
    left, step = (runs[run][0], runs[run][1]) if runs else (1, 1)
    for i in range(len(new) - 1, -1, -1):
        if new[i] == 1:
            strides[i] = step
            continue
        while left == 1 and run > 0:
            run -= 1
            left, step = runs[run][0], runs[run][1]
        if left % new[i]:
            return None
        strides[i] = step
        step *= new[i]
        left //= new[i]
    return tuple(strides)
