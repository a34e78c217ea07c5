"""GPT-NeoX and Pythia: one joint projection cut per head, a part of each head turned, attention beside feed-forward."""

from __future__ import annotations

from tonnage.memory.ledger.families import heads
from tonnage.memory.ledger.families.decoder import causal_mask, language_loss, rotary_angles, rotated
from tonnage.memory.ledger.families.program import Program, Weights
from tonnage.memory.ledger.operators.attending import eager_attention, scaled_dot_product
from tonnage.memory.ledger.operators.elementwise import add
from tonnage.memory.ledger.operators.losses import embedding
from tonnage.memory.ledger.operators.normalizing import layer_norm
from tonnage.memory.ledger.operators.products import linear
from tonnage.memory.ledger.operators.views import cat, contiguous, reshape, sliced, split, transpose
from tonnage.memory.ledger.tensors import Tensor
from tonnage.memory.shapes.shape import ModelShape

Angles = tuple[Tensor, Tensor]


def weights(shape: ModelShape, tensor: int = 1) -> Weights:
    """Names and shapes in the order of the library's modules."""
    d, q, f = shape.hidden, shape.query // tensor, shape.intermediate // tensor
    yield "embed", (shape.vocabulary // tensor, d)
    for i in range(shape.layers):
        at = f"layers.{i}"
        yield from _pair(f"{at}.norm1", d)
        yield from _pair(f"{at}.norm2", d)
        yield f"{at}.qkv", (3 * q, d)
        if shape.qkv_bias:
            yield f"{at}.qkv.bias", (3 * q,)
        yield f"{at}.o", (d, q)
        if shape.out_bias:
            yield f"{at}.o.bias", (d,)
        yield f"{at}.up", (f, d)
        yield f"{at}.up.bias", (f,)
        yield f"{at}.down", (d, f)
        yield f"{at}.down.bias", (d,)
    yield from _pair("norm", d)
    if shape.head != "language":
        yield from heads.weights(shape)
    elif not shape.tied:
        yield "head", (shape.vocabulary // tensor, d)


def _pair(at: str, width: int) -> Weights:
    yield at, (width,)
    yield f"{at}.bias", (width,)


def loss(p: Program, tokens: Tensor, labels: Tensor) -> Tensor:
    """The model's forward and its own loss."""
    embedded = embedding(p.weight("embed"), tokens)
    mask = causal_mask(p, embedded)
    x = p.dropped(embedded)
    angles = rotary_angles(p, x)
    for i in range(p.shape.layers):
        at = f"layers.{i}"
        x = p.block(at, lambda given, at=at, turn=angles, seen=mask: _layer(p, at, given, turn, seen), x)  # type: ignore[misc]
    p.machine.tape.enter("norm")
    x = _norm(p, x, "norm")
    del embedded, mask, angles
    return language_loss(p, x, labels)


def _norm(p: Program, x: Tensor, name: str) -> Tensor:
    return layer_norm(x, p.weight(name), p.weight(f"{name}.bias"))


def _layer(p: Program, at: str, x: Tensor, angles: Angles, mask: Tensor | None) -> Tensor:
    attended = p.dropped(_attend(p, at, _norm(p, x, f"{at}.norm1"), angles, mask))
    if not p.shape.parallel_blocks:
        attended = add(attended, x)
        return add(_mlp(p, at, _norm(p, attended, f"{at}.norm2")), attended)
    inner = _mlp(p, at, _norm(p, x, f"{at}.norm2"))
    return add(add(inner, attended), x)


def _mlp(p: Program, at: str, x: Tensor) -> Tensor:
    inner = p.activate(linear(x, p.weight(f"{at}.up"), p.weight(f"{at}.up.bias"), "f"))
    return p.dropped(linear(inner, p.weight(f"{at}.down"), p.weight(f"{at}.down.bias"), "d"))


def _attend(p: Program, at: str, x: Tensor, angles: Angles, mask: Tensor | None) -> Tensor:
    width = p.shape.head_dim
    joined = p.projected(x, f"{at}.qkv", "3 q")
    heads = joined.shape[-1] // (3 * width)
    headed = transpose(reshape(joined, (*joined.shape[:2], heads, 3 * width)), 1, 2)
    del joined
    q, k, v = split(headed, [width] * 3, ["q", "q", "q"])
    del headed
    q, k = _partly_rotated(q, k, angles)
    rate = p.shape.attention_dropout
    if p.attention == "eager":
        out = eager_attention(q, k, v, mask=mask, rate=rate, softmax_dtype="float32")
    else:
        out = scaled_dot_product(q, k, v, causal=True, rate=rate)
    out = contiguous(transpose(out, 1, 2))
    out = reshape(out, (*out.shape[:2], heads * width))
    return p.projected(out, f"{at}.o", "d")


def _partly_rotated(q: Tensor, k: Tensor, angles: Angles) -> tuple[Tensor, Tensor]:
    """The part that is turned is cut out and the rest joined on, even where there is none."""
    turned = angles[0].shape[-1]
    rest = q.shape[3] - turned
    parts = [(sliced(x, 3, turned), sliced(x, 3, rest) if rest else None) for x in (q, k)]
    done = rotated(parts[0][0], parts[1][0], angles)
    made = [
        cat([part, *([kept] if kept is not None else [])], 3)
        for part, (_, kept) in zip(done, parts, strict=True)
    ]
    return made[0], made[1]
