"""Operations element by element: arithmetic, activations, dropout, casts."""

from __future__ import annotations

from tonnage.memory.ledger.autograd import Gradients, Node, track
from tonnage.memory.ledger.tensors import Tensor


def to(x: Tensor, dtype: str) -> Tensor:
    """A copy in another dtype; itself where it already is."""
    if x.dtype == dtype:
        return x
    out = x.machine.cast(x, dtype)

    def rule(_saved: list[Tensor], gradients: list[Tensor | None], _node: Node) -> Gradients:
        return gradients  # the engine casts back to the input's dtype

    track(x.machine, [out], [x], [], rule)
    return out


def full_precision(x: Tensor) -> Tensor:
    """What autocast does before operations that it keeps in fp32."""
    return to(x, "float32") if x.machine.autocast and x.dtype != "float32" else x


def add(a: Tensor, b: Tensor) -> Tensor:
    """a + b: saves nothing."""
    out = a.machine.elementwise("aten.add.Tensor", a, b)

    def rule(_saved: list[Tensor], gradients: list[Tensor | None], _node: Node) -> Gradients:
        (g,) = gradients
        return [g, g]

    track(a.machine, [out], [a, b], [], rule)
    return out


def add_constant(a: Tensor) -> Tensor:
    """a + number: saves nothing."""
    out = a.machine.elementwise("aten.add.Tensor", a)

    def rule(_saved: list[Tensor], gradients: list[Tensor | None], _node: Node) -> Gradients:
        return gradients

    track(a.machine, [out], [a], [], rule)
    return out


def scale(a: Tensor) -> Tensor:
    """a * number, or a / number: saves nothing."""
    machine = a.machine
    out = machine.elementwise("aten.mul.Tensor", a)

    def rule(_saved: list[Tensor], gradients: list[Tensor | None], _node: Node) -> Gradients:
        (g,) = gradients
        assert g is not None
        return [machine.elementwise("aten.mul.Tensor", g)]

    track(machine, [out], [a], [], rule)
    return out


def negate(a: Tensor) -> Tensor:
    """-a: saves nothing."""
    machine = a.machine
    out = machine.elementwise("aten.neg.default", a)

    def rule(_saved: list[Tensor], gradients: list[Tensor | None], _node: Node) -> Gradients:
        (g,) = gradients
        assert g is not None
        return [machine.elementwise("aten.neg.default", g)]

    track(machine, [out], [a], [], rule)
    return out


def mul(a: Tensor, b: Tensor) -> Tensor:
    """a * b: each operand is kept for the other's gradient."""
    machine = a.machine
    out = machine.elementwise("aten.mul.Tensor", a, b)
    wants_a, wants_b = a.requires_grad, b.requires_grad
    kept = ([b] if wants_a else []) + ([a] if wants_b else [])

    def rule(saved: list[Tensor], gradients: list[Tensor | None], _node: Node) -> Gradients:
        (g,) = gradients
        assert g is not None
        for_a = machine.elementwise("aten.mul.Tensor", g, saved[0]) if wants_a else None
        for_b = machine.elementwise("aten.mul.Tensor", g, saved[-1]) if wants_b else None
        return [for_a, for_b]

    track(machine, [out], [a, b], kept, rule)
    return out


def square(a: Tensor) -> Tensor:
    """a ** n: keeps a."""
    machine = a.machine
    a = full_precision(a)
    out = machine.elementwise("aten.pow.Tensor_Scalar", a)

    def rule(saved: list[Tensor], gradients: list[Tensor | None], _node: Node) -> Gradients:
        (g,) = gradients
        assert g is not None
        power = machine.elementwise("aten.pow.Tensor_Scalar", saved[0])
        scaled = machine.elementwise("aten.mul.Scalar", power)
        return [machine.elementwise("aten.mul.Tensor", g, scaled)]

    track(machine, [out], [a], [a], rule)
    return out


def _keeps_result(a: Tensor, name: str, backward: str) -> Tensor:
    """An activation whose derivative is computed from its result."""
    out = a.machine.elementwise(name, a)
    return _keeping(out, a, out, backward)


def _keeps_input(a: Tensor, name: str, backward: str) -> Tensor:
    """An activation whose derivative is computed from its input."""
    return _keeping(a.machine.elementwise(name, a), a, a, backward)


def _keeping(out: Tensor, a: Tensor, kept: Tensor, backward: str) -> Tensor:
    machine = a.machine

    def rule(saved: list[Tensor], gradients: list[Tensor | None], _node: Node) -> Gradients:
        (g,) = gradients
        assert g is not None
        return [machine.elementwise(backward, g, saved[0])]

    track(machine, [out], [a], [kept], rule)
    return out


def tanh(a: Tensor) -> Tensor:
    """Keeps its result."""
    return _keeps_result(a, "aten.tanh.default", "aten.tanh_backward.default")


def sigmoid(a: Tensor) -> Tensor:
    """Keeps its result."""
    return _keeps_result(a, "aten.sigmoid.default", "aten.sigmoid_backward.default")


def relu(a: Tensor) -> Tensor:
    """Keeps its result."""
    return _keeps_result(a, "aten.relu.default", "aten.threshold_backward.default")


def silu(a: Tensor) -> Tensor:
    """Keeps its input."""
    return _keeps_input(a, "aten.silu.default", "aten.silu_backward.default")


def gelu(a: Tensor) -> Tensor:
    """The fused GELU: keeps its input."""
    return _keeps_input(a, "aten.gelu.default", "aten.gelu_backward.default")


def gelu_new(a: Tensor) -> Tensor:
    """GPT-2's GELU, spelt out in eight operations; autocast raises its cube to fp32."""
    half = scale(a)
    inner = tanh(scale(add(a, scale(square(a)))))
    return mul(half, add_constant(inner))


def rsqrt(a: Tensor) -> Tensor:
    """1 / sqrt(a): keeps its result."""
    machine = a.machine
    a = full_precision(a)
    out = machine.elementwise("aten.rsqrt.default", a)

    def rule(saved: list[Tensor], gradients: list[Tensor | None], _node: Node) -> Gradients:
        (g,) = gradients
        assert g is not None
        cube = machine.elementwise("aten.pow.Tensor_Scalar", saved[0])
        scaled = machine.elementwise("aten.mul.Scalar", g)
        return [machine.elementwise("aten.mul.Tensor", scaled, cube)]

    track(machine, [out], [a], [out], rule)
    return out


def mean_last(a: Tensor) -> Tensor:
    """Mean over the last dimension, kept with one element: saves nothing; backward divides a stretched gradient."""
    machine = a.machine
    out = machine.call("aten.mean.dim", [a], [((*a.shape[:-1], 1), a.dtype, None, "1")])[0]
    shape = a.shape

    def rule(_saved: list[Tensor], gradients: list[Tensor | None], _node: Node) -> Gradients:
        (g,) = gradients
        assert g is not None
        return machine.call("aten.div.Scalar", [g], [(shape, g.dtype, None, g.label)])

    track(machine, [out], [a], [], rule)
    return out


def dropout(a: Tensor, rate: float) -> Tensor:
    """Keeps a mask of one byte per element; nothing happens at rate 0."""
    if not rate:
        return a
    machine = a.machine
    out, mask = machine.call(
        "aten.native_dropout.default",
        [a],
        [(a.shape, a.dtype, a.stride, a.label), (a.shape, "bool", a.stride, a.label)],
    )

    def rule(saved: list[Tensor], gradients: list[Tensor | None], _node: Node) -> Gradients:
        (g,) = gradients
        assert g is not None
        return [machine.elementwise("aten.native_dropout_backward.default", g, saved[0], dtype=g.dtype)]

    track(machine, [out], [a], [mask], rule)
    return out


def add_in_place(a: Tensor, b: Tensor) -> Tensor:
    """a += b: saves nothing, makes nothing."""
    machine = a.machine
    machine.call_in_place("aten.add_.Tensor", a, b)
    out = a.detached()

    def rule(_saved: list[Tensor], gradients: list[Tensor | None], _node: Node) -> Gradients:
        (g,) = gradients
        return [g, g]

    track(machine, [out], [a, b], [], rule)
    return out


def in_place(a: Tensor, name: str, backward: str, *, needs_input: bool) -> Tensor:
    """An activation over its own input; where its derivative needs the input, a copy is saved first."""
    machine = a.machine
    kept: list[Tensor] = []
    if needs_input and a.requires_grad:
        kept = [machine.elementwise("aten.clone.default", a)]
    machine.call_in_place(name, a)
    out = a.detached()

    def rule(saved: list[Tensor], gradients: list[Tensor | None], _node: Node) -> Gradients:
        (g,) = gradients
        assert g is not None
        return [machine.elementwise(backward, g, saved[0])]

    track(machine, [out], [a], kept or [out], rule)
    return out


def activation(a: Tensor, name: str, *, keeps_input: bool) -> Tensor:
    """Any other activation by its aten name."""
    keep = _keeps_input if keeps_input else _keeps_result
    return keep(a, f"aten.{name}.default", f"aten.{name}_backward.default")


def thinned(a: Tensor) -> Tensor:
    """Stochastic depth: a product with one random number per sample."""
    machine = a.machine
    noise_shape = (a.shape[0],) + (1,) * (len(a.shape) - 1)
    noise = machine.call("aten.empty.memory_format", [], [(noise_shape, a.dtype, None, "1")])[0]
    return mul(a, noise)
