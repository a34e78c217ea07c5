"""Swin's windowed attention and merging of patches; MaxViT's windows and grids."""

from __future__ import annotations

from tonnage.memory.ledger.autograd import Gradients, Node, track
from tonnage.memory.ledger.families.program import Program, Weights
from tonnage.memory.ledger.operators.elementwise import add, mul, scale
from tonnage.memory.ledger.operators.normalizing import layer_norm, normalized, softmax
from tonnage.memory.ledger.operators.products import linear, matmul
from tonnage.memory.ledger.operators.views import (
    cat,
    contiguous,
    permute,
    reshape,
    selected,
    sliced,
    split,
    transpose,
)
from tonnage.memory.ledger.tensors import Tensor
from tonnage.memory.shapes.networks import Word


def window_weights(word: Word, at: str, width: int) -> Weights:
    """Projections, and the table (or the small network) of position biases."""
    heads, window, version = word.whole(0), word.whole(1), word.whole(3)
    if version == 2:
        yield f"{at}.scale", (heads, 1, 1)
    else:
        yield f"{at}.table", ((2 * window - 1) ** 2, heads)
    for name, rows in (("qkv", 3 * width), ("o", width)):
        yield f"{at}.{name}", (rows, width)
        yield f"{at}.{name}.bias", (rows,)
    if version == 2:
        yield f"{at}.cpb1", (512, 2)
        yield f"{at}.cpb1.bias", (512,)
        yield f"{at}.cpb2", (heads, 512)


def merging_weights(word: Word, at: str, width: int) -> Weights:
    """Four patches to one of twice the width."""
    yield at, (2 * width, 4 * width)
    for name in ("norm", "norm.bias"):
        yield f"{at}.{name}", (4 * width if word.whole(0) == 1 else 2 * width,)


def window_attention(p: Program, word: Word, at: str, x: Tensor) -> Tensor:
    """Attention inside windows, spelt out: the biases are trained."""
    heads, window, shift = word.whole(0), word.whole(1), word.whole(2)
    machine = p.machine
    batch, rows, columns, width = x.shape
    down, across = -(-rows // window), -(-columns // window)
    padded = (batch, down * window, across * window, width)
    x = _copied(x, "aten.constant_pad_nd.default", padded)  # a copy even where nothing is added
    shifts = shift > 0 and (down > 1 or across > 1)
    if shifts:
        x = _copied(x, "aten.roll.default", padded)
    windows, inside = batch * down * across, window * window
    x = reshape(x, (batch, down, window, across, window, width))
    x = reshape(permute(x, (0, 1, 3, 2, 4, 5)), (windows, inside, width))
    joined = linear(x, p.weight(f"{at}.qkv"), p.weight(f"{at}.qkv.bias"), "features")
    parts = permute(reshape(joined, (windows, inside, 3, heads, width // heads)), (2, 0, 3, 1, 4))
    del joined
    q, k, v = selected(parts, 0), selected(parts, 0), selected(parts, 0)
    del parts
    if word.whole(3) == 2:
        weights = matmul(normalized(q), transpose(normalized(k), 2, 3), "window")
        weights = mul(weights, p.weight(f"{at}.scale"))
    else:
        q = scale(q)
        weights = matmul(q, transpose(k, 2, 3), "window")
    bias = p.machine.call(
        "aten.index.Tensor", [], [((1, heads, inside, inside), weights.dtype, None, "window")]
    )[0]
    weights = add(weights, bias)
    if shifts:
        split = (windows // (down * across), down * across, heads, inside, inside)
        mask = machine.call(
            "aten.masked_fill.Scalar", [], [((1, split[1], 1, inside, inside), "float32", None, "")]
        )[0]
        weights = reshape(add(reshape(weights, split), mask), (windows, heads, inside, inside))
    weights = softmax(weights)
    out = reshape(transpose(matmul(weights, v, "features"), 1, 2), (windows, inside, width))
    del weights, q, k, v
    out = linear(out, p.weight(f"{at}.o"), p.weight(f"{at}.o.bias"), "features")
    out = reshape(out, (batch, down, across, window, window, width))
    out = reshape(permute(out, (0, 1, 3, 2, 4, 5)), padded)
    if shifts:
        out = _copied(out, "aten.roll.default", padded)
    if padded != (batch, rows, columns, width):
        out = contiguous(sliced(sliced(out, 1, rows), 2, columns))
    return out


def merged(p: Program, word: Word, at: str, x: Tensor) -> Tensor:
    """Every second row and column side by side, then a projection."""
    batch, rows, columns, width = x.shape
    if rows % 2 or columns % 2:
        x = _copied(x, "aten.constant_pad_nd.default", (batch, rows + rows % 2, columns + columns % 2, width))
        rows, columns = x.shape[1:3]
    quarters = [sliced(sliced(x, 1, rows // 2), 2, columns // 2) for _ in range(4)]
    x = cat(quarters, 3)
    del quarters
    if word.whole(0) == 1:
        return linear(
            layer_norm(x, p.weight(f"{at}.norm"), p.weight(f"{at}.norm.bias")), p.weight(at), None, "features"
        )
    return layer_norm(
        linear(x, p.weight(at), None, "features"), p.weight(f"{at}.norm"), p.weight(f"{at}.norm.bias")
    )


def _copied(x: Tensor, name: str, shape: tuple[int, ...]) -> Tensor:
    """A rearranged copy; its gradient is one too."""
    machine, before = x.machine, x.shape
    out = machine.call(name, [x], [(shape, x.dtype, None, x.label)])[0]

    def rule(_saved: list[Tensor], gradients: list[Tensor | None], _node: Node) -> Gradients:
        (g,) = gradients
        assert g is not None
        return machine.call(name, [g], [(before, g.dtype, None, g.label)])

    track(machine, [out], [x], [], rule)
    return out


def partition_weights(word: Word, at: str, width: int) -> Weights:
    """MaxViT's attention: a table of position biases, one joint projection and one back."""
    heads, side = word.whole(0), word.whole(1)
    yield f"{at}.table", ((2 * side - 1) ** 2, heads)
    for name, rows in (("qkv", 3 * width), ("o", width)):
        yield f"{at}.{name}", (rows, width)
        yield f"{at}.{name}.bias", (rows,)


def partitioned(x: Tensor, side: int) -> Tensor:
    """An image as windows of pixels."""
    batch, channels, rows, columns = x.shape
    x = reshape(x, (batch, channels, rows // side, side, columns // side, side))
    x = permute(x, (0, 2, 4, 3, 5, 1))
    return reshape(x, (batch, (rows // side) * (columns // side), side * side, channels))


def departitioned(x: Tensor, side: int, rows: int, columns: int) -> Tensor:
    """Windows of pixels as an image again."""
    batch, channels = x.shape[0], x.shape[-1]
    x = permute(reshape(x, (batch, rows, columns, side, side, channels)), (0, 5, 1, 3, 2, 4))
    return reshape(x, (batch, channels, rows * side, columns * side))


def partition_attention(p: Program, word: Word, at: str, x: Tensor) -> Tensor:
    """Attention inside each window, spelt out: the biases are trained."""
    heads = word.whole(0)
    batch, windows, inside, width = x.shape
    joined = linear(x, p.weight(f"{at}.qkv"), p.weight(f"{at}.qkv.bias"), "features")
    parts = split(joined, [width] * 3)
    del joined
    q, k, v = (
        permute(reshape(part, (batch, windows, inside, heads, width // heads)), (0, 1, 3, 2, 4))
        for part in parts
    )
    del parts
    k = scale(k)
    weights = matmul(q, transpose(k, 3, 4), "window")
    bias = p.machine.call(
        "aten.index.Tensor", [], [((1, heads, inside, inside), weights.dtype, None, "window")]
    )[0]
    weights = softmax(add(weights, bias))
    out = matmul(weights, v, "features")
    del weights, q, k, v
    out = reshape(permute(out, (0, 1, 3, 2, 4)), (batch, windows, inside, width))
    return linear(out, p.weight(f"{at}.o"), p.weight(f"{at}.o.bias"), "features")
