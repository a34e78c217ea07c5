"""Vision transformers, as `transformers` and as `torchvision` write them: patches, a class token, plain blocks."""

from __future__ import annotations

from tonnage.memory.ledger.families.program import Program, Weights
from tonnage.memory.ledger.operators.attending import eager_attention, scaled_dot_product
from tonnage.memory.ledger.operators.convolving import convolution
from tonnage.memory.ledger.operators.elementwise import add
from tonnage.memory.ledger.operators.losses import cross_entropy
from tonnage.memory.ledger.operators.normalizing import layer_norm
from tonnage.memory.ledger.operators.products import linear
from tonnage.memory.ledger.operators.views import (
    cat,
    contiguous,
    expand,
    permute,
    reshape,
    selected,
    transpose,
)
from tonnage.memory.ledger.tensors import Tensor
from tonnage.memory.shapes.shape import ModelShape


def weights(shape: ModelShape, tensor: int = 1) -> Weights:
    """Names and shapes; torchvision joins the three projections."""
    del tensor
    d, f = shape.hidden, shape.intermediate
    tokens = (shape.image // shape.patch) ** 2 + 1
    joined = shape.fused_qkv
    yield "class", (1, 1, d)
    if not joined:
        yield "places", (1, tokens, d)
    yield "patches", (d, shape.channels, shape.patch, shape.patch)
    yield "patches.bias", (d,)
    if joined:
        yield "places", (1, tokens, d)
    for i in range(shape.layers):
        at = f"layers.{i}"
        yield from _pair(f"{at}.norm1", d)
        if joined:
            yield from _affine(f"{at}.qkv", 3 * d, d)
        else:
            for name in ("q", "k", "v"):
                yield f"{at}.{name}", (d, d)
                if shape.qkv_bias:
                    yield f"{at}.{name}.bias", (d,)
        yield from _affine(f"{at}.o", d, d)
        yield from _pair(f"{at}.norm2", d)
        yield from _affine(f"{at}.up", f, d)
        yield from _affine(f"{at}.down", d, f)
    yield from _pair("norm", d)
    yield from _affine("head", shape.classes, d)


def _affine(at: str, rows: int, columns: int) -> Weights:
    yield at, (rows, columns)
    yield f"{at}.bias", (rows,)


def _pair(at: str, width: int) -> Weights:
    yield at, (width,)
    yield f"{at}.bias", (width,)


def loss(p: Program, images: Tensor, labels: Tensor) -> Tensor:
    """The model's forward and cross-entropy over classes."""
    x = _patched(p, images)
    for i in range(p.shape.layers):
        at = f"layers.{i}"
        x = p.block(at, lambda given, at=at: _layer(p, at, given), x)  # type: ignore[misc]
    p.machine.tape.enter("head")
    x = layer_norm(x, p.weight("norm"), p.weight("norm.bias"))
    first = selected(x, 1)
    logits = linear(first, p.weight("head"), p.weight("head.bias"), "V")
    p.machine.tape.enter("loss")
    return cross_entropy(logits, labels)


def _patched(p: Program, images: Tensor) -> Tensor:
    batch, d = images.shape[0], p.shape.hidden
    p.machine.tape.enter("patches")
    made = convolution(
        images, p.weight("patches"), p.weight("patches.bias"), (p.shape.patch,) * 2, (0, 0), label="d"
    )
    x = permute(reshape(made, (batch, d, made.shape[2] * made.shape[3])), (0, 2, 1))
    del made
    x = cat([expand(p.weight("class"), (batch, 1, d)), x], 1)
    x = add(x, p.weight("places"))
    return p.dropped(x)


def _layer(p: Program, at: str, x: Tensor) -> Tensor:
    normed = layer_norm(x, p.weight(f"{at}.norm1"), p.weight(f"{at}.norm1.bias"))
    attend = _joined_attention if p.shape.fused_qkv else _attention
    attended = attend(p, at, normed)
    del normed
    x = add(p.dropped(attended), x)
    del attended
    normed = layer_norm(x, p.weight(f"{at}.norm2"), p.weight(f"{at}.norm2.bias"))
    inner = p.activate(linear(normed, p.weight(f"{at}.up"), p.weight(f"{at}.up.bias"), "f"))
    inner = p.dropped(inner) if p.shape.fused_qkv else inner
    inner = linear(inner, p.weight(f"{at}.down"), p.weight(f"{at}.down.bias"), "d")
    del normed
    return add(x, p.dropped(inner))


def _attention(p: Program, at: str, x: Tensor) -> Tensor:
    width = p.shape.head_dim

    def headed(name: str) -> Tensor:
        made = p.projected(x, f"{at}.{name}", "q")
        return transpose(reshape(made, (*made.shape[:2], made.shape[2] // width, width)), 1, 2)

    q, k, v = headed("q"), headed("k"), headed("v")
    if p.attention == "eager":
        out = eager_attention(q, k, v, mask=None, rate=p.shape.attention_dropout, softmax_dtype="")
    else:
        out = scaled_dot_product(q, k, v, rate=p.shape.attention_dropout)
    out = contiguous(transpose(out, 1, 2))
    out = reshape(out, (*out.shape[:2], out.shape[2] * out.shape[3]))
    return p.projected(out, f"{at}.o", "d")


def _joined_attention(p: Program, at: str, x: Tensor) -> Tensor:
    """`nn.MultiheadAttention`: rows before batch, one projection, its thirds made contiguous by a copy."""
    batch, rows, d = x.shape
    width, heads = p.shape.head_dim, p.shape.heads
    turned = transpose(x, 0, 1)
    joined = p.projected(turned, f"{at}.qkv", "3 q")
    split = reshape(joined, (1, rows, batch, 3, d))
    del joined
    thirds = contiguous(reshape(transpose(split, 0, 3), (3, rows, batch, d)))
    del split
    parts = [selected(thirds, 0) for _ in range(3)]
    del thirds
    parts = [transpose(reshape(part, (rows, batch * heads, width)), 0, 1) for part in parts]
    q, k, v = (reshape(part, (batch, heads, rows, width)) for part in parts)
    del parts
    out = scaled_dot_product(q, k, v, rate=p.shape.attention_dropout)
    out = reshape(contiguous(permute(out, (2, 0, 1, 3))), (rows * batch, d))
    made = p.projected(out, f"{at}.o", "d")
    return transpose(reshape(made, (rows, batch, d)), 0, 1)
