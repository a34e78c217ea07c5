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
    each_out = outside / groups
    depth = inside * window
    rate = rate_of(image.dtype, tf32=arithmetic.convolution_tf32)
    stride = float(next(iter(numbers(operation, "stride")), 1))
    shape = "depthwise" if groups > 1 and inside == 1 else "grouped" if groups > 1 else "dense"
    return Work(
        kind="convolution",
        family=f"{shape}{'/backward' if backward else ''}/{'half' if rate in ('bf16', 'fp16') else rate}",
        features=(
            octaves(places),
            octaves(outside),
            octaves(inside),
            1.5 * octaves(window),
            octaves(groups),
            2.0 * is_channels_last(image),
            octaves(stride),
            1.0 * passes if backward else 0.0,
            0.3 * (rate == "fp16"),
        ),
        flops=2.0 * places * outside * depth * passes,
        rate="fp32" if shape == "depthwise" else rate,
        bytes=float(
            total_read(operation.inputs) * (passes if backward else 1) + total_bytes(operation.outputs)
        ),
        # cuDNN works groups off one by one, with slices taken before and put back after.
        kernels=passes * (2.0 + (groups if shape == "grouped" else 0.0)),
        tiles=Tiles(places, each_out, depth, groups),
    )
