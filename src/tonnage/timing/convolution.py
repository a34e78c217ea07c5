"""Convolutions, as the matrix product they are done by: every output place times every input it sees."""

from __future__ import annotations

import math

from tonnage.memory.trace import Operation, TensorInfo
from tonnage.timing.tensors import count, is_channels_last, total_bytes, total_read
from tonnage.timing.work import Arithmetic, Tiles, Work, base_name, numbers, octaves, rate_of

_FORWARD = {
    "convolution",
    "_convolution",
    "cudnn_convolution",
    "convolution_overrideable",
    "_conv_depthwise2d",
}


def convolution_work(operation: Operation, arithmetic: Arithmetic) -> Work | None:
    """The work of a convolution or of its gradients; None where the operation is none."""
    name = base_name(operation)
    if name in _FORWARD and len(operation.inputs) >= 2 and operation.outputs:
        image, weight = operation.inputs[:2]
        return _work(operation, arithmetic, image, weight, operation.outputs[0], passes=1, backward=False)
    if name == "convolution_backward" and len(operation.inputs) >= 3:
        gradient, image, weight = operation.inputs[:3]
        wanted = operation.scalars.get("output_mask")
        asked = wanted[:2] if isinstance(wanted, list | tuple) else (True, True)
        passes = sum(1 for each in asked if each)
        return _work(operation, arithmetic, image, weight, gradient, passes=max(passes, 1), backward=True)
    return None


def _work(
    operation: Operation,
    arithmetic: Arithmetic,
    image: TensorInfo,
    weight: TensorInfo,
    result: TensorInfo,
    *,
    passes: int,
    backward: bool,
) -> Work:
    groups = float(next(iter(numbers(operation, "groups")), 1))
    transposed = operation.scalars.get("transposed") is True
    places = count(image if transposed else result) / (image if transposed else result).shape[1]
    outside, inside = float(weight.shape[0]), float(weight.shape[1])
    window = math.prod(weight.shape[2:])
    stride = float(next(iter(numbers(operation, "stride")), 1))
    depth = inside * window
    rate = rate_of(image.dtype, tf32=arithmetic.convolution_tf32)
    shape = _shape(groups, inside)
    last = is_channels_last(image)
    turned = shape in ("dense", "stem") and not last and not _is_product(image, window, stride)
    arithmetic_name = "half" if rate in ("bf16", "fp16") else rate
    return Work(
        kind="convolution",
        family=f"{shape}/{'last' if last else 'apart'}{'/backward' if backward else ''}/{arithmetic_name}",
        features=(
            octaves(places),
            octaves(outside),
            octaves(inside),
            1.5 * octaves(window),
            octaves(groups),
            1.0 * turned,
            octaves(stride),
            1.0 * passes if backward else 0.0,
            0.3 * (rate == "fp16"),
        ),
        flops=2.0 * places * outside * depth * passes,
        rate="fp32" if shape == "depthwise" else rate,
        bytes=float(
            total_read(operation.inputs) * (passes if backward else 1) + total_bytes(operation.outputs)
        ),
        aside=2.0 * (total_bytes((image, result)) + total_bytes(operation.outputs) * backward)
        if turned
        else 0.0,
        kernels=passes * (3.0 * groups if shape == "sliced" else 4.0 if turned else 2.0),
        tiles=Tiles(places, outside / groups, depth, groups),
    )


def _shape(groups: float, inside: float) -> str:
    """Which sort of kernel does it: cuDNN takes groups apart one by one unless their width is a power of two."""
    if groups == 1:
        return "stem" if inside <= 4 else "dense"
    if inside == 1:
        return "depthwise"
    return "grouped" if int(inside) & (int(inside) - 1) == 0 else "sliced"


def _is_product(image: TensorInfo, window: int, stride: float) -> bool:
    """Whether images can stay as they lie: one place at a time, and rows that wide loads can read."""
    return window == 1 and stride == 1 and math.prod(image.shape[2:]) % 8 == 0
