"""Llama and its relatives: Mistral, Qwen 2 and 3, Gemma, Phi 3, and the attention of Mixtral and OLMoE.

Written as `transformers` writes them: RMSNorm spelt out in fp32, rotary embeddings as two products and a copy of
the halves, key and value heads left grouped where the kernel can share them.
"""

from __future__ import annotations

from tonnage.memory.ledger.families import heads
from tonnage.memory.ledger.families.experts import expert_weights, experts
from tonnage.memory.ledger.families.program import Program, Weights
from tonnage.memory.ledger.operators.attending import eager_attention, repeat_heads, scaled_dot_product
from tonnage.memory.ledger.operators.elementwise import add, mul, negate, scale, tanh, to
from tonnage.memory.ledger.operators.losses import cross_entropy, embedding
from tonnage.memory.ledger.operators.normalizing import rms_norm
from tonnage.memory.ledger.operators.products import linear
from tonnage.memory.ledger.operators.views import cat, contiguous, expand, reshape, sliced, split, transpose
from tonnage.memory.ledger.tensors import Tensor
from tonnage.memory.shapes.shape import ModelShape


def weights(shape: ModelShape, tensor: int = 1) -> Weights:
    """Names and shapes in the order of the library's modules; `tensor` ranks share the inside of a block."""
    yield "embed", (shape.vocabulary // tensor, shape.hidden)
    for i in range(shape.layers):
        yield from _layer_weights(f"layers.{i}", shape, tensor)
    yield "norm", (shape.hidden,)
    if shape.head != "language":
        yield from heads.weights(shape)
    elif not shape.tied:
        yield "head", (shape.vocabulary // tensor, shape.hidden)


def _layer_weights(at: str, shape: ModelShape, tensor: int) -> Weights:
    d, q, k = shape.hidden, shape.query // tensor, max(shape.key // tensor, shape.head_dim)
    if shape.fused_qkv:
        yield f"{at}.qkv", (q + 2 * k, d)
    else:
        for name, width in (("q", q), ("k", k), ("v", k)):
            yield f"{at}.{name}", (width, d)
            if shape.qkv_bias:
                yield f"{at}.{name}.bias", (width,)
    yield f"{at}.o", (d, q)
    if shape.out_bias:
        yield f"{at}.o.bias", (d,)
    if shape.qk_norm != "none":
        yield f"{at}.q_norm", (shape.head_dim if shape.qk_norm == "head" else q,)
        yield f"{at}.k_norm", (shape.head_dim if shape.qk_norm == "head" else k,)
    if shape.experts:
        yield from expert_weights(at, shape, tensor)
    else:
        yield from _mlp_weights(at, shape, tensor)
    for name in ("norm1", "norm2", *(("norm3", "norm4") if shape.post_norms else ())):
        yield f"{at}.{name}", (d,)


def _mlp_weights(at: str, shape: ModelShape, tensor: int) -> Weights:
    d, f = shape.hidden, shape.intermediate // tensor
    if shape.fused_qkv:
        yield f"{at}.gate_up", (2 * f, d)
    else:
        for name in ("gate", "up"):
            yield f"{at}.{name}", (f, d)
            if shape.mlp_bias:
                yield f"{at}.{name}.bias", (f,)
    yield f"{at}.down", (d, f)
    if shape.mlp_bias:
        yield f"{at}.down.bias", (d,)


def loss(p: Program, tokens: Tensor, labels: Tensor) -> Tensor:
    """The model's forward and its own loss."""
    x = embedding(p.weight("embed"), tokens)
    if p.shape.embedding_scale:
        x = scale(x)
    mask = causal_mask(p, x)
    angles = rotary_angles(p, x)
    first = x  # the caller's name for the embeddings keeps them to the end
    for i in range(p.shape.layers):
        at = f"layers.{i}"
        windowed = mask if _has_mask(p, i) else None
        x = p.block(at, lambda given, at=at, turn=angles, seen=windowed: _layer(p, at, given, turn, seen), x)  # type: ignore[misc]
    p.machine.tape.enter("norm")
    x = _norm(p, x, "norm")
    del angles, mask, first
    return language_loss(p, x, labels)


def language_loss(p: Program, x: Tensor, labels: Tensor) -> Tensor:
    """Output projection, fp32 logits, shifted labels, cross-entropy; or the classifier's, where that is the head."""
    if p.shape.head != "language":
        return heads.loss(p, x, labels)
    machine = p.machine
    machine.tape.enter("head")
    logits = linear(x, p.weights.get("head", p.weights["embed"]), None, "V")
    if p.shape.softcap:
        logits = scale(logits)
        logits = tanh(logits)
        logits = scale(logits)
    machine.tape.enter("loss")
    raised = to(logits, "float32")
    batch, rows = labels.shape
    padded = machine.call("aten.constant_pad_nd.default", [labels], [((batch, rows + 1), "int64", None, "")])[
        0
    ]
    shifted = machine.call("aten.clone.default", [labels], [((batch, rows), "int64", None, "")])[0]
    flat = reshape(raised, (batch * rows, raised.shape[-1]))
    result = cross_entropy(flat, reshape(shifted, (batch * rows,)))
    del flat, raised, padded, x
    return result


def causal_mask(p: Program, x: Tensor) -> Tensor | None:
    """The square mask that eager attention adds, or that a sliding window shorter than the sequence needs."""
    batch, rows = x.shape[:2]
    machine = p.machine
    windowed = 0 < p.shape.window < rows
    if p.attention == "flash" or (p.attention == "sdpa" and not windowed):
        return None
    one = (1, 1, rows, rows)
    allowed = machine.call("aten.le.Tensor", [], [(one, "bool", None, "s")])[0]
    if windowed:
        near = machine.call("aten.gt.Tensor", [], [(one, "bool", None, "s")])[0]
        allowed = machine.elementwise("aten.bitwise_and.Tensor", allowed, near)
        del near
    if p.attention == "eager":
        return machine.call("aten.where.self", [allowed], [((batch, *one[1:]), x.dtype, None, "s")])[0]
    return expand(allowed, (batch, *one[1:]))


def _has_mask(p: Program, layer: int) -> bool:
    if p.attention == "eager" or not p.shape.window:
        return True
    every = p.shape.window_every
    return every == 1 or (layer + 1) % every != 0


def rotary_angles(p: Program, x: Tensor) -> tuple[Tensor, Tensor]:
    """Cosines and sines of the positions: computed in fp32, handed on in the model's dtype."""
    machine, rows, width = p.machine, x.shape[1], p.shape.rotary or p.shape.head_dim

    def made(name: str, *inputs: Tensor) -> Tensor:
        return machine.call(name, inputs, [((1, rows, width), "float32", None, "rotary")])[0]

    steps = machine.call("aten.arange.default", [], [((1, width // 2, 1), "float32", None, "rotary")])[0]
    places = machine.call("aten.arange.default", [], [((1, 1, rows), "float32", None, "rotary")])[0]
    turned = machine.call(
        "aten.bmm.default", [steps, places], [((1, width // 2, rows), "float32", None, "rotary")]
    )[0]
    halves = transpose(turned, 1, 2)
    del turned
    angles = made("aten.cat.default", halves, halves)
    cosine = made("aten.mul.Tensor", made("aten.cos.default", angles))
    sine = made("aten.mul.Tensor", made("aten.sin.default", angles))
    shape = (1, 1, rows, width)
    low_cosine, low_sine = to(cosine, x.dtype), to(sine, x.dtype)
    del steps, places, halves, angles, cosine, sine
    return reshape(low_cosine, shape), reshape(low_sine, shape)


def _norm(p: Program, x: Tensor, name: str) -> Tensor:
    return rms_norm(x, p.weight(name), plus_one=p.shape.architecture.startswith("gemma"))


def _layer(p: Program, at: str, x: Tensor, angles: tuple[Tensor, Tensor], mask: Tensor | None) -> Tensor:
    residual = x
    x = _norm(p, x, f"{at}.norm1")
    x = _attend(p, at, x, angles, mask)
    if p.shape.post_norms:
        x = _norm(p, x, f"{at}.norm2")
    x = add(residual, x)
    residual = x
    x = _norm(p, x, f"{at}.norm3" if p.shape.post_norms else f"{at}.norm2")
    x = experts(p, at, x) if p.shape.experts else _mlp(p, at, x)
    if p.shape.post_norms:
        x = _norm(p, x, f"{at}.norm4")
    return add(residual, x)


def _mlp(p: Program, at: str, x: Tensor) -> Tensor:
    if p.shape.fused_qkv:
        both = linear(x, p.weight(f"{at}.gate_up"), None, "f")
        gate, up = split(both, [both.shape[-1] // 2] * 2)
        up = mul(up, p.activate(gate))
        return linear(up, p.weight(f"{at}.down"), None, "d")
    gate = linear(x, p.weight(f"{at}.gate"), p.maybe(f"{at}.gate.bias"), "f")
    gate = p.activate(gate)
    inner = mul(gate, linear(x, p.weight(f"{at}.up"), p.maybe(f"{at}.up.bias"), "f"))
    del gate
    return linear(inner, p.weight(f"{at}.down"), p.maybe(f"{at}.down.bias"), "d")


def _attend(p: Program, at: str, x: Tensor, angles: tuple[Tensor, Tensor], mask: Tensor | None) -> Tensor:
    q, k, v = _projections(p, at, x)
    if p.shape.architecture == "phi3":
        # The part that is turned is cut out and the rest joined on, even where there is none.
        q, k = sliced(q, 3, q.shape[3]), sliced(k, 3, k.shape[3])
        q, k = rotated(q, k, angles)
        q, k = cat([q], 3), cat([k], 3)
    else:
        q, k = rotated(q, k, angles)
    rate = p.shape.attention_dropout
    if p.attention == "eager":
        out = eager_attention(q, k, v, mask=mask, rate=rate, softmax_dtype="float32")
    else:
        if mask is not None and k.shape[1] != q.shape[1]:
            k, v = repeat_heads(k, q.shape[1] // k.shape[1]), repeat_heads(v, q.shape[1] // v.shape[1])
        out = scaled_dot_product(q, k, v, mask=mask, causal=mask is None, rate=rate)
    out = contiguous(transpose(out, 1, 2))
    out = reshape(out, (*out.shape[:2], out.shape[2] * out.shape[3]))
    return p.projected(out, f"{at}.o", "d")


def _projections(p: Program, at: str, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    if p.shape.fused_qkv:
        joined = p.projected(x, f"{at}.qkv", "q + 2 k")
        q_width = p.shape.query // p.tensor
        k_width = (joined.shape[-1] - q_width) // 2
        q, k, v = sliced(joined, 2, q_width), sliced(joined, 2, k_width), sliced(joined, 2, k_width)
        q.label, k.label, v.label = "q", "k", "k"
        return _headed(p, q), _headed(p, k), _headed(p, v)

    def projected(name: str) -> Tensor:
        return p.projected(x, f"{at}.{name}", "q" if name == "q" else "k")

    if p.shape.qk_norm == "full":
        q = rms_norm(projected("q"), p.weight(f"{at}.q_norm"))
        k = rms_norm(projected("k"), p.weight(f"{at}.k_norm"))
        v = projected("v")
        return _headed(p, q), _headed(p, k), _headed(p, v)
    if p.shape.qk_norm == "head":
        q = _headed(p, projected("q"), f"{at}.q_norm")
        k = _headed(p, projected("k"), f"{at}.k_norm")
        return q, k, _headed(p, projected("v"))
    return _headed(p, projected("q")), _headed(p, projected("k")), _headed(p, projected("v"))


def _headed(p: Program, x: Tensor, norm: str | None = None) -> Tensor:
    """Rows of heads turned into heads of rows; some models norm each head on the way."""
    width = p.shape.head_dim
    x = reshape(x, (*x.shape[:2], x.shape[2] // width, width))
    if norm is not None:
        x = _norm(p, x, norm)
    return transpose(x, 1, 2)


def rotated(q: Tensor, k: Tensor, angles: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
    """Queries and keys turned by their positions."""
    cosine, sine = angles

    def turned(x: Tensor) -> Tensor:
        width = x.shape[-1] // 2
        first = mul(x, cosine)
        left, right = sliced(x, 3, width), sliced(x, 3, width)
        return add(first, mul(cat([negate(right), left], 3), sine))

    turned_q = turned(q)
    return turned_q, turned(k)
