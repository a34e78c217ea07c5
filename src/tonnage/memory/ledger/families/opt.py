"""OPT: learned positions, ReLU, queries scaled before the kernel; 350M has norms after and a narrow embedding."""

from __future__ import annotations

from tonnage.memory.ledger.families import heads
from tonnage.memory.ledger.families.decoder import causal_mask, language_loss
from tonnage.memory.ledger.families.program import Program, Weights
from tonnage.memory.ledger.operators.attending import eager_attention, scaled_dot_product
from tonnage.memory.ledger.operators.elementwise import add, scale
from tonnage.memory.ledger.operators.losses import embedding
from tonnage.memory.ledger.operators.normalizing import layer_norm
from tonnage.memory.ledger.operators.products import linear
from tonnage.memory.ledger.operators.views import contiguous, reshape, transpose
from tonnage.memory.ledger.tensors import Tensor
from tonnage.memory.shapes.shape import ModelShape

OFFSET = 2
"""Rows of the position table before the first position."""


def weights(shape: ModelShape, tensor: int = 1) -> Weights:
    """Names and shapes in the order of the library's modules."""
    d, q, f = shape.hidden, shape.query // tensor, shape.intermediate // tensor
    narrow = shape.embedding_width or d
    yield "embed", (shape.vocabulary // tensor, narrow)
    yield "positions", (shape.positions + OFFSET, d)
    if narrow != d:
        yield "narrowed", (narrow, d)
        yield "widened", (d, narrow)
    if not shape.post_norms:
        yield from _pair("norm", d)
    for i in range(shape.layers):
        at = f"layers.{i}"
        for name in ("k", "v", "q"):
            yield from _affine(f"{at}.{name}", q, d, shape.qkv_bias)
        yield from _affine(f"{at}.o", d, q, shape.out_bias)
        yield from _pair(f"{at}.norm1", d)
        yield from _affine(f"{at}.up", f, d, shape.mlp_bias)
        yield from _affine(f"{at}.down", d, f, shape.mlp_bias)
        yield from _pair(f"{at}.norm2", d)
    if shape.head != "language":
        yield from heads.weights(shape)
    elif not shape.tied:
        yield "head", (shape.vocabulary // tensor, narrow)


def _affine(at: str, rows: int, columns: int, has_bias: bool) -> Weights:
    yield at, (rows, columns)
    if has_bias:
        yield f"{at}.bias", (rows,)


def _pair(at: str, width: int) -> Weights:
    yield at, (width,)
    yield f"{at}.bias", (width,)


def loss(p: Program, tokens: Tensor, labels: Tensor) -> Tensor:
    """The model's forward and its own loss."""
    embedded = embedding(p.weight("embed"), tokens)
    ones = p.machine.call("aten.ones.default", [], [(tokens.shape, "float32", None, "")])[0]
    where = p.machine.call("aten.cumsum.default", [ones], [(tokens.shape, "int64", None, "")])[0]
    mask = causal_mask(p, embedded)
    places = embedding(p.weight("positions"), where)
    if p.maybe("widened") is not None:
        embedded = linear(embedded, p.weight("widened"), None, "d")
    x = add(embedded, places)
    for i in range(p.shape.layers):
        at = f"layers.{i}"
        x = p.block(at, lambda given, at=at, mask=mask: _layer(p, at, given, mask), x)  # type: ignore[misc]
    p.machine.tape.enter("norm")
    if not p.shape.post_norms:
        x = _norm(p, x, "norm")
    if p.maybe("narrowed") is not None:
        x = linear(x, p.weight("narrowed"), None, "d")
    del embedded, places, ones, where, mask
    return language_loss(p, x, labels)


def _norm(p: Program, x: Tensor, name: str) -> Tensor:
    return layer_norm(x, p.weight(name), p.weight(f"{name}.bias"))


def _layer(p: Program, at: str, x: Tensor, mask: Tensor | None) -> Tensor:
    after = p.shape.post_norms
    residual = x
    x = x if after else _norm(p, x, f"{at}.norm1")
    x = add(residual, p.dropped(_attend(p, at, x, mask)))
    x = _norm(p, x, f"{at}.norm1") if after else x
    residual = x
    x = x if after else _norm(p, x, f"{at}.norm2")
    inner = p.activate(linear(x, p.weight(f"{at}.up"), p.maybe(f"{at}.up.bias"), "f"))
    inner = linear(inner, p.weight(f"{at}.down"), p.maybe(f"{at}.down.bias"), "d")
    x = add(residual, p.dropped(inner))
    return _norm(p, x, f"{at}.norm2") if after else x


def _attend(p: Program, at: str, x: Tensor, mask: Tensor | None) -> Tensor:
    width = p.shape.head_dim

    def headed(made: Tensor) -> Tensor:
        return transpose(reshape(made, (*made.shape[:2], made.shape[2] // width, width)), 1, 2)

    q = headed(scale(p.projected(x, f"{at}.q", "q")))
    k, v = headed(p.projected(x, f"{at}.k", "q")), headed(p.projected(x, f"{at}.v", "q"))
    rate = p.shape.attention_dropout
    if p.attention == "eager":
        out = eager_attention(q, k, v, mask=mask, rate=rate, softmax_dtype="float32")
    else:
        out = scaled_dot_product(q, k, v, causal=True, rate=rate)
    out = contiguous(transpose(out, 1, 2))
    out = reshape(out, (*out.shape[:2], out.shape[2] * out.shape[3]))
    return p.projected(out, f"{at}.o", "d")
