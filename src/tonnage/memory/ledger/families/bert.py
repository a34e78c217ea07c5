"""BERT, RoBERTa and DistilBERT with a masked-language-model head or a classifier: norms after, dropout everywhere."""

from __future__ import annotations

from tonnage.memory.ledger.families import heads
from tonnage.memory.ledger.families.program import Program, Weights
from tonnage.memory.ledger.operators.attending import eager_attention, scaled_dot_product
from tonnage.memory.ledger.operators.elementwise import add, gelu
from tonnage.memory.ledger.operators.losses import cross_entropy, embedding
from tonnage.memory.ledger.operators.normalizing import layer_norm
from tonnage.memory.ledger.operators.products import linear
from tonnage.memory.ledger.operators.views import contiguous, reshape, transpose
from tonnage.memory.ledger.tensors import Tensor
from tonnage.memory.shapes.shape import ModelShape


def weights(shape: ModelShape, tensor: int = 1) -> Weights:
    """Names and shapes in the order of the library's modules."""
    d, q, f = shape.hidden, shape.query // tensor, shape.intermediate // tensor
    yield "embed", (shape.vocabulary // tensor, d)
    yield "positions", (shape.positions, d)
    if shape.types:
        yield "types", (shape.types, d)
    yield from _normed("norm", d)
    for i in range(shape.layers):
        at = f"layers.{i}"
        for name in ("q", "k", "v"):
            yield from _affine(f"{at}.{name}", q, d)
        yield from _affine(f"{at}.o", d, q)
        yield from _normed(f"{at}.norm1", d)
        yield from _affine(f"{at}.up", f, d)
        yield from _affine(f"{at}.down", d, f)
        yield from _normed(f"{at}.norm2", d)
    if shape.head != "language":
        yield from heads.weights(shape)
        return
    yield "head.bias", (shape.vocabulary // tensor,)
    yield from _affine("transform", d, d)
    yield from _normed("transform.norm", d)
    if not shape.tied:
        yield "head", (shape.vocabulary // tensor, d)


def _affine(at: str, rows: int, columns: int) -> Weights:
    yield at, (rows, columns)
    yield f"{at}.bias", (rows,)


def _normed(at: str, width: int) -> Weights:
    yield at, (width,)
    yield f"{at}.bias", (width,)


def loss(p: Program, tokens: Tensor, labels: Tensor) -> Tensor:
    """The model's forward and its own loss."""
    x = _embedded(p, tokens)
    mask = _square_mask(p, x)
    first = x  # the caller's name for the embeddings keeps them while the layers run
    for i in range(p.shape.layers):
        at = f"layers.{i}"
        x = p.block(at, lambda given, at=at, mask=mask: _layer(p, at, given, mask), x)  # type: ignore[misc]
    del first
    if p.shape.head != "language":
        return heads.loss(p, x, labels)
    p.machine.tape.enter("head")
    logits = _head(p, x)
    p.machine.tape.enter("loss")
    batch, rows = labels.shape
    return cross_entropy(reshape(logits, (batch * rows, logits.shape[-1])), reshape(labels, (batch * rows,)))


def _embedded(p: Program, tokens: Tensor) -> Tensor:
    machine, rows = p.machine, tokens.shape[1]
    where = machine.call("aten.gather.default", [], [((1, rows), "int64", None, "")])[0]
    words = embedding(p.weight("embed"), tokens)
    x = words
    if p.shape.types:
        kinds = embedding(p.weight("types"), tokens)
        x = add(words, kinds)
    places = embedding(p.weight("positions"), where)
    x = add(x, places)
    x = _norm(p, x, "norm")
    return p.dropped(x)


def _norm(p: Program, x: Tensor, name: str) -> Tensor:
    return layer_norm(x, p.weight(name), p.weight(f"{name}.bias"))


def _square_mask(p: Program, x: Tensor) -> Tensor | None:
    if p.attention != "eager":
        return None
    batch, rows = x.shape[:2]
    return p.machine.call("aten.where.self", [], [((batch, 1, rows, rows), x.dtype, None, "s")])[0]


def _affine_of(p: Program, x: Tensor, name: str, label: str) -> Tensor:
    return linear(x, p.weight(name), p.weight(f"{name}.bias"), label)


def _layer(p: Program, at: str, x: Tensor, mask: Tensor | None) -> Tensor:
    attended = _attend(p, at, x, mask)
    distil = p.shape.architecture == "distilbert"
    if not distil:
        attended = p.dropped(attended)
    attended = _norm(p, add(attended, x), f"{at}.norm1")
    inner = p.activate(_affine_of(p, attended, f"{at}.up", "f"))
    inner = _affine_of(p, inner, f"{at}.down", "d")
    inner = p.dropped(inner)
    return _norm(p, add(inner, attended), f"{at}.norm2")


def _attend(p: Program, at: str, x: Tensor, mask: Tensor | None) -> Tensor:
    def headed(name: str) -> Tensor:
        made = p.projected(x, f"{at}.{name}", "q")
        width = p.shape.head_dim
        return transpose(reshape(made, (*made.shape[:2], made.shape[2] // width, width)), 1, 2)

    q, k, v = headed("q"), headed("k"), headed("v")
    rate = p.shape.attention_dropout
    if p.attention == "eager":
        out = eager_attention(q, k, v, mask=mask, rate=rate, softmax_dtype="")
    else:
        out = scaled_dot_product(q, k, v, rate=rate)
    out = contiguous(transpose(out, 1, 2))
    out = reshape(out, (*out.shape[:2], out.shape[2] * out.shape[3]))
    return p.projected(out, f"{at}.o", "d")


def _head(p: Program, x: Tensor) -> Tensor:
    x = gelu(_affine_of(p, x, "transform", "d"))
    x = _norm(p, x, "transform.norm")
    return linear(x, p.weights.get("head", p.weights["embed"]), p.weight("head.bias"), "V")
