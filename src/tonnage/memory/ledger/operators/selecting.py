"""Picking and masking: `where`, `masked_fill`, rows by index."""

from __future__ import annotations

from tonnage.memory.ledger.autograd import Gradients, Node, track
from tonnage.memory.ledger.tensors import Shape, Tensor, dense


def where_else(chosen: Tensor, x: Tensor) -> Tensor:
    """x where chosen, a constant elsewhere: keeps the mask."""
    machine = x.machine
    out = machine.elementwise("aten.where.self", x, chosen, dtype=x.dtype)

    def rule(saved: list[Tensor], gradients: list[Tensor | None], _node: Node) -> Gradients:
        (g,) = gradients
        assert g is not None
        return [machine.elementwise("aten.where.self", g, saved[0], dtype=g.dtype)]

    track(machine, [out], [x], [chosen], rule)
    return out


def masked_fill(x: Tensor, mask: Tensor, *, in_place: bool = False) -> Tensor:
    """x with a constant under the mask: keeps the mask."""
    machine = x.machine
    if in_place:
        machine.call_in_place("aten.masked_fill_.Scalar", x, mask)
        out = Tensor(x.storage, x.shape, x.stride, x.dtype, x.label)
    else:
        out = machine.elementwise("aten.masked_fill.Scalar", x, mask, dtype=x.dtype)

    def rule(saved: list[Tensor], gradients: list[Tensor | None], _node: Node) -> Gradients:
        (g,) = gradients
        assert g is not None
        return [machine.elementwise("aten.masked_fill.Scalar", g, saved[0], dtype=g.dtype)]

    track(machine, [out], [x], [mask], rule)
    return out


def rows_of(x: Tensor, index: Tensor) -> Tensor:
    """Rows by index, copied: keeps the index; backward adds into a full tensor of zeros."""
    machine = x.machine
    shape = (*index.shape, *x.shape[1:])
    out = machine.call("aten.index.Tensor", [x, index], [(shape, x.dtype, None, x.label)])[0]
    before = x.shape

    def rule(saved: list[Tensor], gradients: list[Tensor | None], _node: Node) -> Gradients:
        (g,) = gradients
        assert g is not None
        zeros = machine.call("aten.new_zeros.default", [g], [(before, g.dtype, None, g.label)])[0]
        machine.call_in_place("aten.index_put_.default", zeros, saved[0], g)
        return [zeros]

    track(machine, [out], [x], [index], rule)
    return out


def sum_over(x: Tensor, dim: int) -> Tensor:
    """Sum over one dimension: keeps nothing; the gradient is read many times."""
    machine = x.machine
    shape = (*x.shape[:dim], *x.shape[dim + 1 :])
    out = machine.call("aten.sum.dim_IntList", [x], [(shape, x.dtype, None, x.label)])[0]
    before = x.shape

    def rule(_saved: list[Tensor], gradients: list[Tensor | None], _node: Node) -> Gradients:
        (g,) = gradients
        assert g is not None
        stride: Shape = (*g.stride[:dim], 0, *g.stride[dim:])
        return [Tensor(g.storage, before, stride, g.dtype, g.label)]

    track(machine, [out], [x], [], rule)
    return out


def top(x: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The largest of the last dimension and where they are: keeps the places."""
    machine = x.machine
    shape = (*x.shape[:-1], count)
    values, places = machine.call(
        "aten.topk.default", [x], [(shape, x.dtype, None, "top"), (shape, "int64", None, "top")]
    )
    before = x.shape

    def rule(saved: list[Tensor], gradients: list[Tensor | None], _node: Node) -> Gradients:
        (g,) = gradients
        assert g is not None
        zeros = machine.call("aten.new_zeros.default", [g], [(before, g.dtype, None, "experts")])[0]
        machine.call_in_place("aten.scatter_.src", zeros, saved[0], g)
        return [zeros]

    track(machine, [values], [x], [places], rule)
    return values, places


def grouped_mm(a: Tensor, b: Tensor, ends: Tensor, label: str) -> Tensor:
    """Rows sorted by expert times each expert's matrix: keeps rows and matrices; autocast does not cast it."""
    machine = a.machine
    shape = (a.shape[0], b.shape[2])
    out = machine.call("aten._grouped_mm.default", [a, b, ends], [(shape, a.dtype, None, label)])[0]
    a_shape, b_shape, a_label = a.shape, b.shape, a.label
    turned_back = dense((b_shape[0], b_shape[2], b_shape[1]))

    def rule(saved: list[Tensor], gradients: list[Tensor | None], node: Node) -> Gradients:
        (g,) = gradients
        assert g is not None
        for_a = for_b = None
        if node.needs(0):
            for_a = machine.call(
                "aten._grouped_mm.default", [g, saved[0], saved[2]], [(a_shape, g.dtype, None, a_label)]
            )[0]
        if node.needs(1):
            stride = (turned_back[0], turned_back[2], turned_back[1])
            for_b = machine.call(
                "aten._grouped_mm.default", [saved[1], g, saved[2]], [(b_shape, g.dtype, stride, "experts")]
            )[0]
        return [for_a, for_b]

    track(machine, [out], [a, b], [b, a, ends], rule)
    return out
