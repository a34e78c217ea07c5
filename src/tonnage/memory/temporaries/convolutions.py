"""Convolutions: cuDNN's workspace.

Tensor cores read images with channels last, and channels in multiples of 16 bytes. What lies otherwise is copied
into the workspace in that form, and the result is written there before it is put in order; that, not the
arithmetic, is nearly all of a workspace. On the H200: ResNet-50 fp32, batch 128: 466 MiB forward (the first layer's
input 73.5 and output 392); amp with channels last, batch 256: 196 MiB (three channels padded to eight).

Where the workspace does not fit, torch tries cuDNN's next plan, down to plans that need none: it presses on the
peak, but not on the smallest cap.

N images, C channels, H W rows and columns.
"""

from __future__ import annotations

from math import prod

from tonnage.memory.device import Device
from tonnage.memory.temporaries.rule import NONE, Rule, Temporaries, Temporary, item_size
from tonnage.memory.trace import Operation, TensorInfo

ALIGNMENT = 16
"""Bytes that a pixel's channels must be a multiple of."""


def forward(operation: Operation, device: Device) -> Temporaries:
    """Input, weight and output in channels-last form, those that are not in it already; after the output.

    Evidence: measured on two networks (above), explained by this formula to 1 %; grouped and depthwise
    convolutions have kernels of their own and take nothing.
    """
    del device
    if _groups(operation) != 1 or not operation.outputs:
        return NONE
    image, weight = operation.inputs[0], operation.inputs[1]
    needed = _rearranged(image) + _rearranged(weight) + _rearranged(operation.outputs[0])
    return (Temporary(needed, is_optional=True),)


def backward(operation: Operation, device: Device) -> Temporaries:
    """One workspace for the image's gradient, returned, then one for the weight's.

    Evidence: source for the order (`cudnn_convolution_backward`); measured: 596 MiB at most (ResNet-50 fp32, batch
    128), 202 MiB (amp, channels last, batch 256), against 588 and 196 by this formula.
    """
    del device
    if _groups(operation) != 1:
        return NONE
    gradient, image, weight = operation.inputs[:3]
    needed = _rearranged(gradient) + _rearranged(weight) + _rearranged(image)
    makes_image = any(made.shape == image.shape for made in operation.outputs)
    first = (Temporary(needed, after=1, until=1, is_optional=True),) if makes_image else ()
    return (*first, Temporary(needed, after=2 if makes_image else 1, until=2, is_optional=True))


def _groups(operation: Operation) -> int:
    groups = operation.scalars.get("groups", 1)
    return groups if isinstance(groups, int) else 1


def _rearranged(tensor: TensorInfo) -> int:
    """Bytes of the copy with channels last and padded; none where the tensor is in that form."""
    if len(tensor.shape) < 3:
        return 0
    images, channels, *pixels = tensor.shape
    item = item_size(tensor.dtype)
    padded = -(-channels * item // ALIGNMENT) * ALIGNMENT
    is_channels_last = tensor.stride[1] == 1 or channels == 1
    if is_channels_last and padded == channels * item:
        return 0
    return images * padded * prod(pixels)


RULES: dict[str, Rule] = {
    "aten.convolution": forward,
    "aten.cudnn_convolution": forward,
    "aten._convolution": forward,
    "aten.convolution_backward": backward,
}
