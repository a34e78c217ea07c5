"""Heads other than the language model's, for files whose `architectures` name one.

A vocabulary's logits are often the largest tensors of a small model's step; a classifier has none of them.
"""

from __future__ import annotations

from tonnage.memory.ledger.families.program import Program, Weights
from tonnage.memory.ledger.operators.elementwise import relu, tanh, to
from tonnage.memory.ledger.operators.losses import cross_entropy
from tonnage.memory.ledger.operators.products import linear
from tonnage.memory.ledger.operators.views import reshape, selected
from tonnage.memory.ledger.tensors import Tensor
from tonnage.memory.shapes.shape import ModelShape


def weights(shape: ModelShape) -> Weights:
    """A classifier's weights: encoders have biases and, for whole texts, a layer before; decoders have neither."""
    d = shape.hidden
    if shape.family == "bert" and shape.head == "sequence":
        yield "transform", (d, d)
        yield "transform.bias", (d,)
    yield "head", (shape.classes, d)
    if shape.family == "bert" or shape.head == "tokens":
        yield "head.bias", (shape.classes,)


def loss(p: Program, x: Tensor, labels: Tensor) -> Tensor:
    """One class per text, or one per token."""
    p.machine.tape.enter("head")
    batch = x.shape[0]
    if p.shape.head == "tokens":
        x = p.dropped(x, 0.1 if p.shape.family != "bert" else None)
        logits = _projected(p, x)
        p.machine.tape.enter("loss")
        flat = to(reshape(logits, (batch * logits.shape[1], p.shape.classes)), "float32")
        return cross_entropy(flat, reshape(labels, (labels.numel,)))
    logits = _pooled(p, x) if p.shape.family == "bert" else selected(_projected(p, x), 1)
    p.machine.tape.enter("loss")
    return cross_entropy(logits, labels)


def _projected(p: Program, x: Tensor) -> Tensor:
    return linear(x, p.weight("head"), p.maybe("head.bias"), "classes")


def _pooled(p: Program, x: Tensor) -> Tensor:
    """The first token through one more layer; RoBERTa drops out before it too, DistilBERT has ReLU and BERT tanh."""
    first = selected(x, 1)
    if p.shape.architecture == "roberta":
        first = p.dropped(first)
    made = linear(first, p.weight("transform"), p.weight("transform.bias"), "d")
    made = relu(made) if p.shape.architecture == "distilbert" else tanh(made)
    return _projected(p, p.dropped(made))
