"""Convolutions, batch norms and pools: the operations of convolutional networks."""

from __future__ import annotations

from tonnage.memory.ledger.autograd import Gradients, Node, track
from tonnage.memory.ledger.operators.products import half
from tonnage.memory.ledger.tensors import Shape, Tensor, dense_like

Pair = tuple[int, int]


def convolution(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Pair,
    padding: Pair,
    dilation: Pair = (1, 1),
    groups: int = 1,
    label: str = "",
) -> Tensor:
    """Keeps its input and the weight; makes the gradients of input, weight and bias in one call."""
    machine = x.machine
    bias = None if bias is None else half(bias)
    weight = half(weight)
    x = half(x)
    spans = [dilation[i] * (weight.shape[2 + i] - 1) + 1 for i in (0, 1)]
    sides = [(x.shape[2 + i] + 2 * padding[i] - spans[i]) // stride[i] + 1 for i in (0, 1)]
    shape = (x.shape[0], weight.shape[0], *sides)
    given = [x, weight] if bias is None else [x, weight, bias]
    scalars = ("stride", stride, "padding", padding, "dilation", dilation, "groups", groups)
    out = machine.call(
        "aten.convolution.default", given, [(shape, x.dtype, _layout(x, shape), label)], *scalars
    )[0]
    width = weight.shape[0]

    def rule(saved: list[Tensor], gradients: list[Tensor | None], node: Node) -> Gradients:
        (g,) = gradients
        assert g is not None
        image, kernel = saved
        wants = [node.needs(i) for i in range(len(node.edges))]
        made: list[tuple[Shape, str, Shape | None, str]] = [
            (image.shape, g.dtype, dense_like(image.shape, image.stride), image.label),
            (kernel.shape, g.dtype, dense_like(kernel.shape, kernel.stride), "weight"),
            ((width,), g.dtype, None, "bias"),
        ]
        outs = [one for one, want in zip(made, wants, strict=False) if want]
        results = machine.call("aten.convolution_backward.default", [g, image, kernel], outs, *scalars)
        return [results.pop(0) if want else None for want in wants]

    track(machine, [out], given, [x, weight], rule)
    return out


def _layout(x: Tensor, shape: Shape) -> Shape | None:
    """Channels last stays channels last."""
    if x.stride[1] != 1 or x.shape[1] == 1:
        return None
    _, c, h, w = shape
    return (c * h * w, 1, w * c, c)


def batch_norm(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Keeps its input and two fp32 numbers per channel."""
    machine = x.machine
    channels = (x.shape[1],)
    out, mean, deviation = machine.call(
        "aten.native_batch_norm.default",
        [x, weight, bias],
        [
            (x.shape, x.dtype, dense_like(x.shape, x.stride), x.label),
            (channels, "float32", None, ""),
            (channels, "float32", None, ""),
        ],
        "training",
        True,
    )
    width, dtype = weight.shape, weight.dtype

    def rule(saved: list[Tensor], gradients: list[Tensor | None], _node: Node) -> Gradients:
        (g,) = gradients
        assert g is not None
        outs: list[tuple[Shape, str, Shape | None, str]] = [
            (g.shape, g.dtype, dense_like(g.shape, g.stride), g.label),
            (width, dtype, None, "norm"),
            (width, dtype, None, "norm"),
        ]
        return machine.call("aten.native_batch_norm_backward.default", [g, *saved], outs)

    track(machine, [out], [x, weight, bias], [x, mean, deviation, weight], rule)
    return out


def max_pool(x: Tensor, kernel: Pair, stride: Pair, padding: Pair, ceil: bool) -> Tensor:
    """Keeps its input and the places of the maxima, eight bytes each."""
    machine = x.machine
    shape = (*x.shape[:2], *(_pooled(x.shape[2 + i], kernel[i], stride[i], padding[i], ceil) for i in (0, 1)))
    layout = _layout(x, shape)
    out, places = machine.call(
        "aten.max_pool2d_with_indices.default",
        [x],
        [(shape, x.dtype, layout, x.label), (shape, "int64", layout, x.label)],
    )

    def rule(saved: list[Tensor], gradients: list[Tensor | None], _node: Node) -> Gradients:
        (g,) = gradients
        assert g is not None
        image = saved[0]
        spec = (image.shape, g.dtype, dense_like(image.shape, image.stride), image.label)
        return machine.call("aten.max_pool2d_with_indices_backward.default", [g, *saved], [spec])

    track(machine, [out], [x], [x, places], rule)
    return out


def average_pool(x: Tensor, kernel: Pair, stride: Pair, padding: Pair, ceil: bool) -> Tensor:
    """Keeps its input."""
    shape = (*x.shape[:2], *(_pooled(x.shape[2 + i], kernel[i], stride[i], padding[i], ceil) for i in (0, 1)))
    return _average(x, shape, "aten.avg_pool2d")


def adaptive_pool(x: Tensor, sides: Pair) -> Tensor:
    """An average over as many parts as asked for: keeps its input, unless one part is all."""
    shape = (*x.shape[:2], *sides)
    if sides != (1, 1):
        return _average(x, shape, "aten._adaptive_avg_pool2d")
    return mean_pixels(x)


def mean_pixels(x: Tensor) -> Tensor:
    """The mean over rows and columns: keeps nothing."""
    machine = x.machine
    before = x.shape
    shape = (*before[:2], 1, 1)
    out = machine.call("aten.mean.dim", [x], [(shape, x.dtype, None, x.label)])[0]

    def rule(_saved: list[Tensor], gradients: list[Tensor | None], _node: Node) -> Gradients:
        (g,) = gradients
        assert g is not None
        return machine.call("aten.div.Scalar", [g], [(before, g.dtype, None, g.label)])

    track(machine, [out], [x], [], rule)
    return out


def _average(x: Tensor, shape: Shape, name: str) -> Tensor:
    machine = x.machine
    out = machine.call(f"{name}.default", [x], [(shape, x.dtype, _layout(x, shape), x.label)])[0]

    def rule(saved: list[Tensor], gradients: list[Tensor | None], _node: Node) -> Gradients:
        (g,) = gradients
        assert g is not None
        image = saved[0]
        spec = (image.shape, g.dtype, dense_like(image.shape, image.stride), image.label)
        return machine.call(f"{name}_backward.default", [g, image], [spec])

    track(machine, [out], [x], [x], rule)
    return out


def _pooled(size: int, kernel: int, stride: int, padding: int, ceil: bool) -> int:
    reach = size + 2 * padding - kernel
    count = (-(-reach // stride) if ceil else reach // stride) + 1
    if ceil and (count - 1) * stride >= size + padding:
        count -= 1
    return count
