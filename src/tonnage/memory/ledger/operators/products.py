"""Matrix products: linear layers, GPT-2's Conv1D, batched products. Autocast casts their operands."""

from __future__ import annotations

from tonnage.memory.ledger.autograd import Gradients, Node, track
from tonnage.memory.ledger.operators.elementwise import add, to
from tonnage.memory.ledger.operators.views import expand, reshape, transpose
from tonnage.memory.ledger.tensors import Tensor, count, is_contiguous


def half(x: Tensor) -> Tensor:
    """What autocast does before a matrix product: weights are cast once and remembered, activations each time."""
    dtype = x.machine.autocast
    if dtype is None or x.dtype != "float32":
        return x
    if not x.leaf:
        return to(x, dtype)
    casts = x.machine.casts
    found = casts.get(id(x))
    if found is None:
        found = casts[id(x)] = to(x, dtype), x.machine.tape.part
    return found[0]


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None, label: str = "") -> Tensor:
    """x @ weight.T + bias: keeps x and the weight."""
    given, outs = x.shape, weight.shape[0]
    bias = None if bias is None else half(bias)
    weight = half(weight)
    x = half(x)
    turned = transpose(weight, 0, 1)
    fits_addmm = len(given) == 2 or is_contiguous(x.shape, x.stride)
    flat = reshape(x, (count(given[:-1]), given[-1]))
    if bias is None:
        out = mm(flat, turned, label)
    elif not fits_addmm:
        return add(reshape(mm(flat, turned, label), (*given[:-1], outs)), bias)
    else:
        out = addmm(bias, flat, turned, label)
    return reshape(out, (*given[:-1], outs))


def conv1d(x: Tensor, weight: Tensor, bias: Tensor, label: str) -> Tensor:
    """GPT-2's linear layer, whose weight is stored the other way round."""
    given = x.shape
    flat = reshape(x, (count(given[:-1]), given[-1]))
    weight, flat = half(weight), half(flat)
    out = addmm(half(bias), flat, weight, label)
    return reshape(out, (*given[:-1], weight.shape[1]))


def _plain_t(x: Tensor) -> Tensor:
    return Tensor(x.storage, x.shape[::-1], x.stride[::-1], x.dtype, x.label)


def _times(a: Tensor, b: Tensor, label: str) -> Tensor:
    shape = (a.shape[0], b.shape[1])
    return a.machine.call("aten.mm.default", [a, b], [(shape, a.dtype, None, label)])[0]


def _gradient_of_second(a: Tensor, g: Tensor, b_is_turned: bool, label: str) -> Tensor:
    if b_is_turned:
        return _plain_t(_times(_plain_t(g), a, label))
    return _times(_plain_t(a), g, label)


def mm(a: Tensor, b: Tensor, label: str = "") -> Tensor:
    """a @ b: keeps both, each only where the other wants a gradient; the second's gradient comes first."""
    out = _times(a, b, label)
    wants_a, wants_b = a.requires_grad, b.requires_grad
    kept = ([b] if wants_a else []) + ([a] if wants_b else [])
    turned, b_label, a_label = not is_contiguous(b.shape, b.stride), b.label, a.label

    def rule(saved: list[Tensor], gradients: list[Tensor | None], _node: Node) -> Gradients:
        (g,) = gradients
        assert g is not None
        for_b = _gradient_of_second(saved[-1], g, turned, b_label) if wants_b else None
        for_a = _times(g, _plain_t(saved[0]), a_label) if wants_a else None
        return [for_a, for_b]

    track(a.machine, [out], [a, b], kept, rule)
    return out


def addmm(bias: Tensor, a: Tensor, b: Tensor, label: str = "") -> Tensor:
    """bias + a @ b: as `mm`, but the first's gradient comes first and the bias takes a sum over rows."""
    machine = a.machine
    shape = (a.shape[0], b.shape[1])
    out = machine.call("aten.addmm.default", [bias, a, b], [(shape, a.dtype, None, label)])[0]
    wants_a, wants_b = a.requires_grad, b.requires_grad
    kept = ([a] if wants_b else []) + ([b] if wants_a else [])
    turned, b_label, a_label, wants_bias = (
        not is_contiguous(b.shape, b.stride), b.label, a.label, bias.requires_grad,
    )  # fmt: skip

    def rule(saved: list[Tensor], gradients: list[Tensor | None], _node: Node) -> Gradients:
        (g,) = gradients
        assert g is not None
        for_a = _times(g, _plain_t(saved[-1]), a_label) if wants_a else None
        for_b = _gradient_of_second(saved[0], g, turned, b_label) if wants_b else None
        return [g if wants_bias else None, for_a, for_b]

    track(machine, [out], [bias, a, b], kept, rule)
    return out


def bmm(a: Tensor, b: Tensor, label: str = "") -> Tensor:
    """Batched a @ b over three dimensions: keeps both."""
    machine = a.machine
    shape = (a.shape[0], a.shape[1], b.shape[2])
    out = machine.call("aten.bmm.default", [a, b], [(shape, a.dtype, None, label)])[0]
    wants_a, wants_b = a.requires_grad, b.requires_grad
    kept = ([b] if wants_a else []) + ([a] if wants_b else [])
    a_label, b_label = a.label, b.label

    def turned(x: Tensor) -> Tensor:
        shape, stride = x.shape, x.stride
        return Tensor(
            x.storage, (shape[0], shape[2], shape[1]), (stride[0], stride[2], stride[1]), x.dtype, x.label
        )

    def rule(saved: list[Tensor], gradients: list[Tensor | None], _node: Node) -> Gradients:
        (g,) = gradients
        assert g is not None
        for_a = for_b = None
        if wants_b:
            other = turned(saved[-1])
            size = (g.shape[0], other.shape[1], g.shape[2])
            for_b = machine.call("aten.bmm.default", [other, g], [(size, g.dtype, None, b_label)])[0]
        if wants_a:
            other = turned(saved[0])
            size = (g.shape[0], g.shape[1], other.shape[2])
            for_a = machine.call("aten.bmm.default", [g, other], [(size, g.dtype, None, a_label)])[0]
        return [for_a, for_b]

    track(machine, [out], [a, b], kept, rule)
    return out


def matmul(a: Tensor, b: Tensor, label: str = "") -> Tensor:
    """a @ b over four dimensions, as `torch.matmul` does it: flattened to batches, copied where strides demand."""
    b = half(b)
    a = half(a)
    lead = a.shape[:-2]
    left = reshape(a, (count(lead), *a.shape[-2:]))
    right = reshape(b, (count(lead), *b.shape[-2:])) if b.shape[:-2] == lead else b
    if right is b:
        right = reshape(expand(b, (*lead, *b.shape[-2:])), (count(lead), *b.shape[-2:]))
    out = bmm(left, right, label)
    return reshape(out, (*lead, a.shape[-2], b.shape[-1]))
