"""Mixtures of experts as `transformers` runs them: tokens sorted by expert, one grouped product per projection.

The router sends each token to `experts_per_token` experts, so the rows inside are that many times the tokens,
whatever the balance: grouped products need no capacity and drop nothing.
"""

from __future__ import annotations

from tonnage.memory.ledger.families.program import Program, Weights
from tonnage.memory.ledger.operators.elementwise import mul, to
from tonnage.memory.ledger.operators.normalizing import softmax
from tonnage.memory.ledger.operators.products import linear
from tonnage.memory.ledger.operators.selecting import grouped_mm, masked_fill, rows_of, sum_over, top
from tonnage.memory.ledger.operators.views import reshape, split, transpose
from tonnage.memory.ledger.tensors import Tensor
from tonnage.memory.shapes.shape import ModelShape


def expert_weights(at: str, shape: ModelShape, tensor: int) -> Weights:
    """Router, and the experts' joined projections."""
    d, f, experts = shape.hidden, shape.intermediate // tensor, shape.experts
    yield f"{at}.router", (experts, d)
    yield f"{at}.experts.gate_up", (experts, 2 * f, d)
    yield f"{at}.experts.down", (experts, d, f)


def experts(p: Program, at: str, x: Tensor) -> Tensor:
    """The feed-forward part of a block, by experts."""
    machine = p.machine
    batch, rows, d = x.shape
    tokens = batch * rows
    flat = reshape(x, (tokens, d))
    chances = softmax(linear(flat, p.weight(f"{at}.router"), None, "experts"), "float32")
    values, places = top(chances, p.shape.experts_per_token)
    del chances
    pairs = tokens * p.shape.experts_per_token
    share = reshape(values, (pairs,))
    _, order = machine.call(
        "aten.sort.default", [places], [((pairs,), "int64", None, "top"), ((pairs,), "int64", None, "top")]
    )
    index = machine.elementwise("aten.floor_divide.default", order)
    chosen = rows_of(flat, index)
    share = rows_of(share, order)
    ends = machine.call("aten.cumsum.default", [], [((p.shape.experts,), "int32", None, "")])[0]
    mask = machine.call("aten.ge.Scalar", [order], [((pairs, 1), "bool", None, "top")])[0]
    chosen = masked_fill(chosen, mask, in_place=True)
    out = grouped_mm(chosen, transpose(p.weight(f"{at}.experts.gate_up"), 1, 2), ends, "2 f")
    out = masked_fill(out, mask)
    gate, up = split(out, [out.shape[-1] // 2] * 2, ["f", "f"])
    out = mul(p.activate(gate), up)
    del gate, up
    out = grouped_mm(out, transpose(p.weight(f"{at}.experts.down"), 1, 2), ends, "d")
    out = masked_fill(out, mask)
    weighted = mul(out, reshape(share, (pairs, 1)))
    back = machine.elementwise("aten.empty_like.default", order)
    weighted = rows_of(weighted, back)
    gathered = sum_over(reshape(weighted, (tokens, p.shape.experts_per_token, d)), 1)
    result = to(gathered, x.dtype)
    return reshape(result, (batch, rows, d))
