"""T5: an encoder and a decoder with learned relative position biases.

The bias is trained, so no fused kernel takes it: self-attention is spelt out in fp32 with its square matrices,
in every layer; only attention from the decoder to the encoder uses a fused kernel.
"""

from __future__ import annotations

from tonnage.memory.ledger.families.program import Program, Weights
from tonnage.memory.ledger.operators.attending import eager_attention, scaled_dot_product
from tonnage.memory.ledger.operators.elementwise import add, mul, scale, to
from tonnage.memory.ledger.operators.losses import cross_entropy, embedding
from tonnage.memory.ledger.operators.normalizing import t5_norm
from tonnage.memory.ledger.operators.products import linear
from tonnage.memory.ledger.operators.selecting import where_else
from tonnage.memory.ledger.operators.views import contiguous, permute, reshape, transpose
from tonnage.memory.ledger.tensors import Tensor
from tonnage.memory.shapes.shape import ModelShape

Biases = tuple[list[Tensor], list[Tensor]]
"""Of attention to itself and to the encoder; empty until the first layer has made them."""


def weights(shape: ModelShape, tensor: int = 1) -> Weights:
    """Names and shapes in the order of the library's modules."""
    yield "embed", (shape.vocabulary // tensor, shape.hidden)
    for stack, layers in (("encoder", shape.layers), ("decoder", shape.decoder_layers)):
        for i in range(layers):
            at = f"{stack}.{i}"
            yield from _attention_weights(f"{at}.self", shape, tensor)
            if i == 0:
                yield f"{stack}.bias", (shape.relative_buckets, shape.heads // tensor)
            yield f"{at}.self.norm", (shape.hidden,)
            if stack == "decoder":
                yield from _attention_weights(f"{at}.cross", shape, tensor)
                yield f"{at}.cross.norm", (shape.hidden,)
            yield from _inner_weights(at, shape, tensor)
            yield f"{at}.norm", (shape.hidden,)
        yield f"{stack}.norm", (shape.hidden,)
    if not shape.tied:
        yield "head", (shape.vocabulary // tensor, shape.hidden)


def _attention_weights(at: str, shape: ModelShape, tensor: int) -> Weights:
    q = shape.query // tensor
    for name in ("q", "k", "v"):
        yield f"{at}.{name}", (q, shape.hidden)
    yield f"{at}.o", (shape.hidden, q)


def _inner_weights(at: str, shape: ModelShape, tensor: int) -> Weights:
    f = shape.intermediate // tensor
    for name in ("gate", "up") if shape.gated else ("up",):
        yield f"{at}.{name}", (f, shape.hidden)
    yield f"{at}.down", (shape.hidden, f)


def loss(p: Program, tokens: Tensor, labels: Tensor) -> Tensor:
    """The model's forward and its own loss."""
    seen = _stack(p, "encoder", p.shape.layers, tokens, None)
    shifted = p.machine.call("aten.clone.default", [labels], [(labels.shape, "int64", None, "")])[0]
    x = _stack(p, "decoder", p.shape.decoder_layers, shifted, seen)
    p.machine.tape.enter("head")
    if p.shape.embedding_scale:
        x = scale(x)
    logits = linear(x, p.weights.get("head", p.weights["embed"]), None, "V")
    p.machine.tape.enter("loss")
    batch, rows = labels.shape
    return cross_entropy(reshape(logits, (batch * rows, logits.shape[-1])), reshape(labels, (batch * rows,)))


def _stack(p: Program, stack: str, layers: int, tokens: Tensor, seen: Tensor | None) -> Tensor:
    embedded = embedding(p.weight("embed"), tokens)
    x = p.dropped(embedded)
    shared: Biases = ([], [])
    for i in range(layers):
        at = f"{stack}.{i}"
        run = _first_layer if i == 0 else _layer
        x = p.block(at, lambda given, at=at, run=run: run(p, stack, at, given, seen, shared), x)  # type: ignore[misc]
    p.machine.tape.enter(f"{stack}.norm")
    x = t5_norm(x, p.weight(f"{stack}.norm"))
    return p.dropped(x)


def _first_layer(p: Program, stack: str, at: str, x: Tensor, seen: Tensor | None, shared: Biases) -> Tensor:
    """The first layer makes the biases, and makes them again when it is run again."""
    made: Biases = ([], [])
    out = _layer(p, stack, at, x, seen, made)
    if not p.machine.recomputing:
        shared[0].extend(made[0])
        shared[1].extend(made[1])
    return out


def _layer(p: Program, stack: str, at: str, x: Tensor, seen: Tensor | None, biases: Biases) -> Tensor:
    normed = t5_norm(x, p.weight(f"{at}.self.norm"))
    attended = _attend(p, f"{at}.self", normed, normed, biases[0], stack)
    x = add(x, p.dropped(attended))
    del normed, attended
    if seen is not None:
        normed = t5_norm(x, p.weight(f"{at}.cross.norm"))
        attended = _attend(p, f"{at}.cross", normed, seen, biases[1], stack)
        x = add(x, p.dropped(attended))
        del normed, attended
    normed = t5_norm(x, p.weight(f"{at}.norm"))
    inner = _inner(p, at, normed)
    return add(x, p.dropped(inner))


def _inner(p: Program, at: str, x: Tensor) -> Tensor:
    if p.shape.gated:
        gate = p.activate(linear(x, p.weight(f"{at}.gate"), None, "f"))
        up = linear(x, p.weight(f"{at}.up"), None, "f")
        x = mul(gate, up)
    else:
        x = linear(x, p.weight(f"{at}.up"), None, "f")
        x = p.activate(x)
    x = p.dropped(x)
    x = to(x, p.weight(f"{at}.down").dtype)
    return linear(x, p.weight(f"{at}.down"), None, "d")


def _attend(p: Program, at: str, x: Tensor, seen: Tensor, bias: list[Tensor], stack: str) -> Tensor:
    def headed(name: str, given: Tensor) -> Tensor:
        made = p.projected(given, f"{at}.{name}", "q")
        width = p.shape.head_dim
        return transpose(reshape(made, (*made.shape[:2], made.shape[2] // width, width)), 1, 2)

    q, k, v = headed("q", x), headed("k", seen), headed("v", seen)
    crosses = at.endswith("cross")
    if not bias:  # the first layer of a stack makes it, the others share it
        bias.append(_no_bias(p, q, k) if crosses else _position_bias(p, stack, x.shape[1]))
    added = bias[0]
    rate = p.shape.attention_dropout
    if p.attention == "eager":
        out = eager_attention(q, k, v, mask=added, rate=rate, softmax_dtype="")
    else:
        if not crosses and stack == "decoder":
            allowed = p.machine.call("aten.ge.Tensor", [], [((q.shape[2], k.shape[2]), "bool", None, "s")])[0]
            added = where_else(reshape(allowed, (1, 1, *allowed.shape)), added)
        out = scaled_dot_product(q, k, v, mask=added, rate=rate)
    out = contiguous(transpose(out, 1, 2))
    out = reshape(out, (*out.shape[:2], out.shape[2] * out.shape[3]))
    return p.projected(out, f"{at}.o", "d")


def _no_bias(p: Program, q: Tensor, k: Tensor) -> Tensor:
    shape = (1, q.shape[1], q.shape[2], k.shape[2])
    return p.machine.call("aten.zeros.default", [], [(shape, q.dtype, None, "heads s")])[0]


def _position_bias(p: Program, stack: str, rows: int) -> Tensor:
    machine = p.machine
    square = (rows, rows)

    def whole(name: str, dtype: str = "int64", *inputs: Tensor) -> Tensor:
        return machine.call(name, inputs, [(square, dtype, None, "s")])[0]

    distance = whole("aten.sub.Tensor")
    if stack == "encoder":
        sign = whole("aten._to_copy.default", "int64", whole("aten.gt.Scalar", "bool"))
        sign = whole("aten.mul.Tensor", "int64", sign)
        buckets = whole("aten.add.Tensor", "int64", sign)
        del sign
        near = whole("aten.abs.default")
    else:
        near = whole(
            "aten.neg.default",
            "int64",
            whole("aten.minimum.default", "int64", whole("aten.zeros_like.default")),
        )
        buckets = near
    is_near = whole("aten.lt.Scalar", "bool")
    logs = whole("aten._to_copy.default", "float32", near)
    for name in ("aten.div.Tensor", "aten.log.default", "aten.div.Tensor", "aten.mul.Tensor"):
        logs = whole(name, "float32", logs)
    far = whole("aten._to_copy.default", "int64", logs)
    del logs
    far = whole("aten.add.Tensor", "int64", far)
    far = whole("aten.minimum.default", "int64", far, whole("aten.full_like.default"))
    chosen = whole("aten.where.self", "int64", is_near, near, far)
    if stack == "encoder":
        machine.call_in_place("aten.add_.Tensor", buckets, chosen)
        del chosen
    else:
        buckets = whole("aten.add.Tensor", "int64", chosen)
        del chosen
    del near, is_near, far
    values = embedding(p.weight(f"{stack}.bias"), buckets, "s")
    del distance
    return reshape(permute(values, (2, 0, 1)), (1, values.shape[2], rows, rows))
