"""Normalizations and softmax."""

from __future__ import annotations

from tonnage.memory.ledger.autograd import Gradients, Node, track
from tonnage.memory.ledger.operators.elementwise import (
    add_constant,
    full_precision,
    mean_last,
    mul,
    rsqrt,
    square,
    to,
)
from tonnage.memory.ledger.tensors import Tensor


def layer_norm(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """Keeps its input and two fp32 numbers per row."""
    machine = x.machine
    x = full_precision(x)
    given = [x, weight] if bias is None else [x, weight, bias]
    small = (*x.shape[:-1], 1)
    out, mean, deviation = machine.call(
        "aten.native_layer_norm.default",
        given,
        [(x.shape, x.dtype, None, x.label), (small, "float32", None, "1"), (small, "float32", None, "1")],
    )
    wide, has_bias, trains = weight.shape, bias is not None, weight.requires_grad

    def rule(saved: list[Tensor], gradients: list[Tensor | None], node: Node) -> Gradients:
        (g,) = gradients
        assert g is not None
        outs = [(g.shape, g.dtype, None, g.label)] if node.needs(0) else []
        if trains:
            outs += [(wide, g.dtype, None, "norm")] * (2 if has_bias else 1)
        made: list[Tensor | None] = list(
            machine.call("aten.native_layer_norm_backward.default", [g, *saved], outs)
        )
        first = made.pop(0) if node.needs(0) else None
        rest = made + [None] * (2 - len(made))
        return [first, *rest] if has_bias else [first, rest[0]]

    track(machine, [out], given, [x, mean, deviation, weight], rule)
    return out


def rms_norm(x: Tensor, weight: Tensor, *, plus_one: bool = False) -> Tensor:
    """The libraries' RMSNorm, spelt out: cast to fp32, square, mean, rsqrt, product, cast back, weight."""
    given = x.dtype
    x = to(x, "float32")
    variance = mean_last(square(x))
    x = mul(x, rsqrt(add_constant(variance)))
    if plus_one:
        return to(mul(x, add_constant(to(weight, "float32"))), given)
    return mul(weight, to(x, given))


def t5_norm(x: Tensor, weight: Tensor) -> Tensor:
    """T5's RMSNorm: the product takes the input as it is, and only half-precision weights are cast back to."""
    variance = mean_last(square(to(x, "float32")))
    x = mul(x, rsqrt(add_constant(variance)))
    if weight.dtype != "float32":
        x = to(x, weight.dtype)
    return mul(weight, x)


def softmax(x: Tensor, dtype: str | None = None) -> Tensor:
    """Keeps its result; with a dtype it reads half and writes full precision in one pass."""
    machine = x.machine
    given = x.dtype
    target = dtype or ("float32" if machine.autocast else x.dtype)
    if target != given:
        x = to(x, target)
    out = machine.elementwise("aten._softmax.default", x)

    def rule(saved: list[Tensor], gradients: list[Tensor | None], _node: Node) -> Gradients:
        (g,) = gradients
        assert g is not None
        return [machine.elementwise("aten._softmax_backward_data.default", g, saved[0])]

    track(machine, [out], [x], [out], rule)
    return out


def normalized(x: Tensor) -> Tensor:
    """`F.normalize` over the last dimension: keeps its input and the lengths, which autocast takes in fp32."""
    machine = x.machine
    dtype = "float32" if machine.autocast else x.dtype
    small = (*x.shape[:-1], 1)
    length = machine.call("aten.linalg_vector_norm.default", [x], [(small, dtype, None, "1")])[0]
    length = machine.elementwise("aten.clamp_min.default", length)
    out = machine.elementwise("aten.div.Tensor", x, length)

    def rule(saved: list[Tensor], gradients: list[Tensor | None], _node: Node) -> Gradients:
        (g,) = gradients
        assert g is not None
        direct = machine.elementwise("aten.div.Tensor", g, saved[1])
        through = machine.elementwise("aten.mul.Tensor", g, saved[0])
        machine.call_in_place("aten.add_.Tensor", direct, through)
        return [direct]

    track(machine, [out], [x], [x, length], rule)
    return out
