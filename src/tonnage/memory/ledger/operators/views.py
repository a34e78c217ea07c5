"""Operations that only look at memory differently, and the copies that happen where they cannot."""

from __future__ import annotations

from collections.abc import Sequence

from tonnage.memory.ledger.autograd import Gradients, Node, track
from tonnage.memory.ledger.tensors import Shape, Tensor, dense, is_contiguous, viewed


def _look(x: Tensor, shape: Shape, stride: Shape, label: str | None = None) -> Tensor:
    return Tensor(x.storage, shape, stride, x.dtype, x.label if label is None else label)


def _shaped(x: Tensor, shape: Shape) -> Tensor:
    """`reshape` without history: a view where strides allow it, else a copy."""
    stride = viewed(x.shape, x.stride, shape)
    if stride is not None:
        return _look(x, shape, stride)
    copy = x.machine.call("aten.clone.default", [x], [(x.shape, x.dtype, None, x.label)])[0]
    return _look(copy, shape, dense(shape))


def _plain_transpose(x: Tensor, a: int, b: int) -> Tensor:
    shape, stride = list(x.shape), list(x.stride)
    shape[a], shape[b] = shape[b], shape[a]
    stride[a], stride[b] = stride[b], stride[a]
    return _look(x, tuple(shape), tuple(stride))


def reshape(x: Tensor, shape: Shape) -> Tensor:
    """Other dimensions over the same elements."""
    if shape == x.shape:
        return x
    out = _shaped(x, shape)
    before = x.shape

    def rule(_saved: list[Tensor], gradients: list[Tensor | None], _node: Node) -> Gradients:
        (g,) = gradients
        assert g is not None
        return [_shaped(g, before)]

    track(x.machine, [out], [x], [], rule)
    return out


def transpose(x: Tensor, a: int, b: int) -> Tensor:
    """Two dimensions swapped."""
    rank = len(x.shape)
    a, b = a % rank, b % rank
    out = _plain_transpose(x, a, b)

    def rule(_saved: list[Tensor], gradients: list[Tensor | None], _node: Node) -> Gradients:
        (g,) = gradients
        assert g is not None
        return [_plain_transpose(g, a, b)]

    track(x.machine, [out], [x], [], rule)
    return out


def permute(x: Tensor, order: Sequence[int]) -> Tensor:
    """Dimensions in another order."""

    def turned(t: Tensor, by: Sequence[int]) -> Tensor:
        return _look(t, tuple(t.shape[i] for i in by), tuple(t.stride[i] for i in by))

    out = turned(x, order)
    back = [order.index(i) for i in range(len(order))]

    def rule(_saved: list[Tensor], gradients: list[Tensor | None], _node: Node) -> Gradients:
        (g,) = gradients
        assert g is not None
        return [turned(g, back)]

    track(x.machine, [out], [x], [], rule)
    return out


def expand(x: Tensor, shape: Shape) -> Tensor:
    """A dimension of one element read many times; the engine sums its gradient."""
    lead = len(shape) - len(x.shape)
    sizes, steps = (1,) * lead + x.shape, (0,) * lead + x.stride
    stride = tuple(
        0 if size == 1 and new != 1 else step for size, step, new in zip(sizes, steps, shape, strict=True)
    )
    out = _look(x, shape, stride)

    def rule(_saved: list[Tensor], gradients: list[Tensor | None], _node: Node) -> Gradients:
        return gradients

    track(x.machine, [out], [x], [], rule)
    return out


def sliced(x: Tensor, dim: int, size: int) -> Tensor:
    """A part along one dimension; its gradient is a full tensor of zeros with the part put in."""
    dim %= len(x.shape)
    shape = (*x.shape[:dim], size, *x.shape[dim + 1 :])
    out = _look(x, shape, x.stride)
    before = x.shape

    def rule(_saved: list[Tensor], gradients: list[Tensor | None], _node: Node) -> Gradients:
        (g,) = gradients
        assert g is not None
        return x_machine.call("aten.slice_backward.default", [g], [(before, g.dtype, None, g.label)])

    x_machine = x.machine
    track(x.machine, [out], [x], [], rule)
    return out


def split(
    x: Tensor, sizes: Sequence[int], labels: Sequence[str] | None = None, dim: int = -1
) -> list[Tensor]:
    """Parts along a dimension, made together; their gradients are joined by one copy."""
    names = labels or [x.label] * len(sizes)
    dim %= len(x.shape)
    before, dtype, label, machine = x.shape, x.dtype, x.label, x.machine
    shapes = [(*before[:dim], size, *before[dim + 1 :]) for size in sizes]
    parts = [_look(x, shape, x.stride, name) for shape, name in zip(shapes, names, strict=True)]

    def rule(_saved: list[Tensor], gradients: list[Tensor | None], _node: Node) -> Gradients:
        given = [g for g in gradients if g is not None]
        missing = [
            machine.call("aten.zeros.default", [], [(shape, dtype, None, label)])[0]
            for shape, g in zip(shapes, gradients, strict=True)
            if g is None
        ]
        return machine.call("aten.cat.default", given + missing, [(before, dtype, None, label)])

    track(machine, parts, [x], [], rule)
    return parts


def cat(parts: Sequence[Tensor], dim: int) -> Tensor:
    """Parts joined by a copy; gradients are views of the whole one."""
    dim %= len(parts[0].shape)
    total = sum(part.shape[dim] for part in parts)
    shape = (*parts[0].shape[:dim], total, *parts[0].shape[dim + 1 :])
    machine = parts[0].machine
    out = machine.call("aten.cat.default", parts, [(shape, parts[0].dtype, None, parts[0].label)])[0]
    sizes = [part.shape[dim] for part in parts]

    def rule(_saved: list[Tensor], gradients: list[Tensor | None], _node: Node) -> Gradients:
        (g,) = gradients
        assert g is not None
        return [_look(g, (*g.shape[:dim], size, *g.shape[dim + 1 :]), g.stride) for size in sizes]

    track(machine, [out], parts, [], rule)
    return out


def contiguous(x: Tensor) -> Tensor:
    """The elements in order: itself, or a copy."""
    if is_contiguous(x.shape, x.stride):
        return x
    out = x.machine.call("aten.clone.default", [x], [(x.shape, x.dtype, None, x.label)])[0]

    def rule(_saved: list[Tensor], gradients: list[Tensor | None], _node: Node) -> Gradients:
        return gradients

    track(x.machine, [out], [x], [], rule)
    return out


def selected(x: Tensor, dim: int) -> Tensor:
    """One item along a dimension; its gradient is a full tensor of zeros with the item put in."""
    shape = (*x.shape[:dim], *x.shape[dim + 1 :])
    stride = (*x.stride[:dim], *x.stride[dim + 1 :])
    out = _look(x, shape, stride)
    before, machine = x.shape, x.machine

    def rule(_saved: list[Tensor], gradients: list[Tensor | None], _node: Node) -> Gradients:
        (g,) = gradients
        assert g is not None
        return machine.call("aten.select_backward.default", [g], [(before, g.dtype, None, g.label)])

    track(machine, [out], [x], [], rule)
    return out
