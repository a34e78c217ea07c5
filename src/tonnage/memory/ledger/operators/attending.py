"""Scaled dot-product attention: what the kernel that PyTorch takes keeps.

A fused kernel keeps its operands, its result and one number per row; where none fits, attention is spelt out with its
square matrices. The `flash` choice is the flash-attention package's kernel, which PyTorch's own was taken from.
"""

from __future__ import annotations

from tonnage.memory.ledger.attention_kernels import Heads, Kernel
from tonnage.memory.ledger.autograd import Gradients, Node, track
from tonnage.memory.ledger.operators.elementwise import add, dropout, scale, to
from tonnage.memory.ledger.operators.normalizing import softmax
from tonnage.memory.ledger.operators.products import half, matmul
from tonnage.memory.ledger.operators.views import expand, reshape, sliced, transpose
from tonnage.memory.ledger.tensors import Shape, Tensor, dense_like

FLASH_STEP = 8
"""Elements of a head to which the flash kernel's operands are filled up."""


def scaled_dot_product(
    q: Tensor, k: Tensor, v: Tensor, *, mask: Tensor | None = None, causal: bool = False, rate: float = 0.0
) -> Tensor:
    """Attention by the kernel that PyTorch would take."""
    v, k, q = half(v), half(k), half(q)
    if mask is not None and mask.dtype == "bool":
        mask = q.machine.call("aten.where.self", [mask], [(mask.shape, q.dtype, None, "s")])[0]
    kernel = q.machine.kernels.choose(
        Heads(
            q.dtype,
            q.shape[-1],
            grouped=k.shape[1] != q.shape[1],
            masked=mask is not None,
            trains_mask=mask is not None and mask.requires_grad,
            drops=rate > 0,
        )
    )
    if kernel == "math":
        return _spelt_out(q, k, v, mask=mask, causal=causal, rate=rate)
    if kernel == "flash" and q.shape[-1] % FLASH_STEP:
        wide_q, wide_k, wide_v = (_widened(x, -(-x.shape[-1] // FLASH_STEP) * FLASH_STEP) for x in (q, k, v))
        return sliced(_fused(wide_q, wide_k, wide_v, mask, kernel, rate), 3, q.shape[-1])
    return _fused(q, k, v, mask, kernel, rate)


def _widened(x: Tensor, width: int) -> Tensor:
    """A copy with zeros behind each row."""
    machine, before, dtype, label = x.machine, x.shape, x.dtype, x.label

    def padded(given: Tensor, last: int) -> Tensor:
        shape = (*before[:-1], last)
        return machine.call("aten.constant_pad_nd.default", [given], [(shape, dtype, None, label)])[0]

    out = padded(x, width)

    def rule(_saved: list[Tensor], gradients: list[Tensor | None], _node: Node) -> Gradients:
        (g,) = gradients
        assert g is not None
        return [padded(g, before[-1])]

    track(machine, [out], [x], [], rule)
    return out


def _fused(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, kernel: Kernel, rate: float) -> Tensor:
    machine = q.machine
    batch, heads, rows, _ = q.shape
    name = f"aten._scaled_dot_product_{kernel}_attention"
    sums: Shape
    if kernel == "cudnn":
        stride, sums = dense_like(q.shape, q.stride), (batch, heads, rows, 1)
    else:
        width = q.shape[3]
        rounded = rows if kernel == "flash" else -(-rows // 32) * 32
        stride, sums = (rows * heads * width, width, heads * width, 1), (batch, heads, rounded)
    given = [q, k, v] if mask is None else [q, k, v, mask]
    made = machine.call(
        f"{name}.default",
        given,
        [
            (q.shape, q.dtype, stride, q.label),
            (sums, "float32", None, "heads"),
            ((), "int64", None, ""),
            ((), "int64", None, ""),
        ],
        "dropout_p",
        rate,
    )
    out, rest = made[0], made[1:]

    def rule(saved: list[Tensor], gradients: list[Tensor | None], _node: Node) -> Gradients:
        (g,) = gradients
        assert g is not None
        key, query, value = saved[:3]
        outs = [(x.shape, x.dtype, dense_like(x.shape, x.stride), x.label) for x in (query, key, value)]
        return machine.call(
            f"{name}_backward.default", [g, query, key, value, *saved[3:]], outs, "dropout_p", rate
        )

    kept = [k, q, v, rest[0], out, rest[2], rest[1]] + ([] if mask is None else [mask])
    track(machine, [out], [q, k, v], kept, rule)
    return out


def _spelt_out(q: Tensor, k: Tensor, v: Tensor, *, mask: Tensor | None, causal: bool, rate: float) -> Tensor:
    """The version without a kernel of its own: everything in fp32, operands alive to the end."""
    given, machine = q.dtype, q.machine
    before, machine.autocast = machine.autocast, None
    wide_q, wide_k, wide_v = to(q, "float32"), to(k, "float32"), to(v, "float32")
    scaled = scale(wide_q)
    if causal and mask is None:
        square = (q.shape[2], k.shape[2])
        allowed = machine.call("aten.ones.default", [], [(square, "bool", None, "s")])[0]
        allowed = machine.elementwise("aten.tril.default", allowed)
        mask = machine.call("aten.where.self", [allowed], [(square, "float32", None, "s")])[0]
        del allowed
    groups = q.shape[1] // k.shape[1]
    keys, values = repeat_heads(wide_k, groups), repeat_heads(wide_v, groups)
    scores = matmul(scaled, scale(transpose(keys, 2, 3)), "heads s")
    if mask is not None:
        scores = add(scores, mask)
    weights = softmax(scores)
    del scores
    weights = dropout(weights, rate)
    narrow = machine.cast(weights, given) if given != "float32" and rate else None
    out = to(matmul(weights, values, "heads"), given)
    machine.autocast = before
    del narrow
    return out


def repeat_heads(x: Tensor, groups: int) -> Tensor:
    """Each key or value head copied for the query heads that share it."""
    if groups == 1:
        return x
    batch, heads, rows, width = x.shape
    stretched = expand(reshape(x, (batch, heads, 1, rows, width)), (batch, heads, groups, rows, width))
    return reshape(stretched, (batch, heads * groups, rows, width))


def eager_attention(
    q: Tensor, k: Tensor, v: Tensor, *, mask: Tensor | None, rate: float, softmax_dtype: str | None
) -> Tensor:
    """The libraries' own spelt-out attention; the result still has heads before rows.

    `softmax_dtype`: fp32 and back to the query's dtype; None: back to the values' dtype; "": left as it is.
    """
    groups = q.shape[1] // k.shape[1]
    k, v = repeat_heads(k, groups), repeat_heads(v, groups)
    weights = scale(matmul(q, transpose(k, 2, 3), "heads s"))
    if mask is not None:
        weights = add(weights, mask)
    weights = softmax(weights, softmax_dtype or None)
    if softmax_dtype != "":
        weights = to(weights, q.dtype if softmax_dtype else v.dtype)
    weights = dropout(weights, rate)
    return matmul(weights, v, "heads")
