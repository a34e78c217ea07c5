"""GPT-2 as `transformers` writes it: Conv1D layers, a GELU spelt out in eight operations, dropout with masks."""

from __future__ import annotations

from tonnage.memory.ledger.families import heads
from tonnage.memory.ledger.families.decoder import causal_mask, language_loss
from tonnage.memory.ledger.families.program import Program, Weights
from tonnage.memory.ledger.operators.attending import eager_attention, scaled_dot_product
from tonnage.memory.ledger.operators.elementwise import add
from tonnage.memory.ledger.operators.losses import embedding
from tonnage.memory.ledger.operators.normalizing import layer_norm
from tonnage.memory.ledger.operators.products import conv1d
from tonnage.memory.ledger.operators.views import contiguous, reshape, split, transpose
from tonnage.memory.ledger.tensors import Tensor
from tonnage.memory.shapes.shape import ModelShape


def weights(shape: ModelShape, tensor: int = 1) -> Weights:
    """Names and shapes in the order of the library's modules."""
    d, q, f = shape.hidden, shape.query // tensor, shape.intermediate // tensor
    yield "embed", (shape.vocabulary // tensor, d)
    yield "positions", (shape.positions, d)
    for i in range(shape.layers):
        at = f"layers.{i}"
        yield from _norm_weights(f"{at}.norm1", d)
        yield f"{at}.qkv", (d, 3 * q)
        yield f"{at}.qkv.bias", (3 * q,)
        yield f"{at}.o", (q, d)
        yield f"{at}.o.bias", (d,)
        yield from _norm_weights(f"{at}.norm2", d)
        yield f"{at}.up", (d, f)
        yield f"{at}.up.bias", (f,)
        yield f"{at}.down", (f, d)
        yield f"{at}.down.bias", (d,)
    yield from _norm_weights("norm", d)
    if shape.head != "language":
        yield from heads.weights(shape)
    elif not shape.tied:
        yield "head", (shape.vocabulary // tensor, d)


def _norm_weights(at: str, width: int) -> Weights:
    yield at, (width,)
    yield f"{at}.bias", (width,)


def loss(p: Program, tokens: Tensor, labels: Tensor) -> Tensor:
    """The model's forward and its own loss."""
    rows = tokens.shape[1]
    embedded = embedding(p.weight("embed"), tokens)
    where = p.machine.call("aten.arange.default", [], [((1, rows), "int64", None, "")])[0]
    placed = embedding(p.weight("positions"), where)
    x = add(embedded, placed)
    mask = causal_mask(p, x)
    x = p.dropped(x)
    for i in range(p.shape.layers):
        at = f"layers.{i}"
        x = p.block(at, lambda given, at=at, mask=mask: _layer(p, at, given, mask), x)  # type: ignore[misc]
    p.machine.tape.enter("norm")
    x = layer_norm(x, p.weight("norm"), p.weight("norm.bias"))
    del embedded, placed, where, mask
    return language_loss(p, x, labels)


def _layer(p: Program, at: str, x: Tensor, mask: Tensor | None) -> Tensor:
    residual = x
    x = layer_norm(x, p.weight(f"{at}.norm1"), p.weight(f"{at}.norm1.bias"))
    attended = _attend(p, at, x, mask)
    x = add(attended, residual)
    residual = x
    x = layer_norm(x, p.weight(f"{at}.norm2"), p.weight(f"{at}.norm2.bias"))
    inner = conv1d(x, p.weight(f"{at}.up"), p.weight(f"{at}.up.bias"), "f")
    inner = p.activate(inner)
    inner = conv1d(inner, p.weight(f"{at}.down"), p.weight(f"{at}.down.bias"), "d")
    inner = p.dropped(inner)
    x_out = add(residual, inner)
    del x, attended, inner
    return x_out


def _attend(p: Program, at: str, x: Tensor, mask: Tensor | None) -> Tensor:
    width = p.shape.head_dim
    joined = conv1d(x, p.weight(f"{at}.qkv"), p.weight(f"{at}.qkv.bias"), "3 q")
    joined = p.adapted(joined, x, f"{at}.qkv", "3 q")
    each = joined.shape[-1] // 3
    parts = split(joined, [each] * 3, ["q", "q", "q"])
    del joined
    q, k, v = (transpose(reshape(part, (*part.shape[:2], each // width, width)), 1, 2) for part in parts)
    del parts
    rate = p.shape.attention_dropout
    if p.attention == "eager":
        out = eager_attention(q, k, v, mask=mask, rate=rate, softmax_dtype=None)
    else:
        out = scaled_dot_product(q, k, v, causal=True, rate=rate)
    out = contiguous(transpose(out, 1, 2))
    out = reshape(out, (*out.shape[:2], each))
    made = conv1d(out, p.weight(f"{at}.o"), p.weight(f"{at}.o.bias"), "d")
    made = p.adapted(made, out, f"{at}.o", "d")
    del out
    return p.dropped(made)
