"""Convolutions: cuDNN's workspaces.

Tensor cores read images with channels last and channels padded. What lies otherwise is copied into the workspace in
that form, and the result is written there before it is put in order; that, not the arithmetic, is nearly all of a
workspace. Weight gradients add partial sums. The rules are the patterns of 388 convolutions of eleven networks (and
their gradients) and of 2863 measured one by one (`accuracy/measuring/operations.py`, `odd_convolutions.py`: pointwise,
dilated, transposed, long and deep ones) on an H200 with cuDNN 9.19; cuDNN decides by shape and by version, and no
document says how.

Where the workspace does not fit, torch tries cuDNN's next plan, down to plans that need none: it presses on the
peak, but not on the smallest cap.

N images, C channels, P pixels of an image, I input, O output, W weight, G gradient of the output.
"""

from __future__ import annotations

from math import prod

from tonnage.memory.device import Device
from tonnage.memory.temporaries.reductions import shared_partials
from tonnage.memory.temporaries.rule import Rule, Temporaries, Temporary, bytes_of, item_size
from tonnage.memory.trace import Operation, TensorInfo

MIB = 2**20
HEADER = 16
"""Bytes beside the copies, 16 or 147: enough to reach the next 512, and the next segment where copies fill one."""
PATCH = 16
"""From this kernel size on, a convolution that does not overlap is one of image patches."""


def forward(operation: Operation, device: Device) -> Temporaries:
    """`I + O + W` rearranged; nothing for depthwise kernels, for 1 x 1 kernels on aligned images, or channels last.

    Images of three channels are padded where they are cut into patches or lie with channels last.
    Evidence: measured (above).
    """
    del device
    if not operation.outputs or len(operation.inputs[0].shape) < 3:
        return ()
    image, weight = operation.inputs[0], operation.inputs[1]
    return _optional(_rearranged(image, weight, operation.outputs[0]))


def backward(operation: Operation, device: Device) -> Temporaries:
    """The image's gradient, its workspace, returned; the weight's gradient, its workspace; the bias's, its sums.

    Image: as forward. Weight: the same and partial sums: at most `15 W` and `8 MiB + W`;
    with a 1 x 1 kernel on aligned images `4 N W` where that is less, unless channels are few and images large;
    depthwise with channels last `32 N W`. A gradient that does not lie as the image does is copied first.
    Evidence: measured (above); source for the order and for the bias's sums.
    """
    if len(operation.inputs) < 3 or len(operation.inputs[1].shape) < 3:
        return ()
    gradient, image, weight = operation.inputs[:3]
    makes_image = any(made.shape == image.shape for made in operation.outputs)
    makes_bias = any(len(made.shape) == 1 for made in operation.outputs)
    place = 1 if makes_image else 0
    copied = (Temporary(bytes_of(gradient), after=0),) if _is_disordered(gradient, image) else ()
    first = _optional(_rearranged(image, weight, gradient), after=1, until=1) if makes_image else ()
    second = _optional(_weight_gradient(image, weight, gradient), after=place + 1, until=place + 1)
    sums: Temporaries = ()
    if makes_bias:
        others = frozenset(range(len(gradient.shape))) - {1}
        sums = shared_partials(gradient, others, 4, device)
    return (*copied, *first, *second, *sums)


def _rearranged(image: TensorInfo, weight: TensorInfo, made: TensorInfo) -> int:
    """Bytes of copies in the form the kernel wants."""
    if _is_depthwise(image, weight):
        return 0
    channels, kernel, half = image.shape[1], weight.shape[2:], item_size(image.dtype) < 4
    stride = max(1, image.shape[2] // max(1, made.shape[2]))
    if _is_channels_last(image):
        return _padded(image, 8) + _padded(weight, 8) if channels % 8 and channels < 8 else 0
    if prod(kernel) == 1:
        return bytes_of(image) + bytes_of(made) + HEADER if stride > 1 or _is_unaligned(image) else 0
    is_patched = kernel[0] >= PATCH
    if channels < (4 if half else 5) and not (is_patched or kernel[0] == 7):
        return 0
    padding = (8 if is_patched or 4 <= channels < 8 else 4) if half else (4 if is_patched else 1)
    return _padded(image, padding) + bytes_of(made) + _padded(weight, padding) + HEADER


def _weight_gradient(image: TensorInfo, weight: TensorInfo, gradient: TensorInfo) -> int:
    count, elements = image.shape[0], prod(weight.shape)
    size = bytes_of(weight)
    if _is_depthwise(image, weight):
        return 32 * count * elements if _is_channels_last(image) else 0
    half = item_size(image.dtype) < 4
    partial = min(15 * size, 8 * MIB + size)
    if _is_channels_last(image):
        rearranged = _padded(image, 8) if image.shape[1] < 8 else 0
        return rearranged + partial
    if image.shape[1] < 4:
        return _first_layer(image, weight, gradient)
    whole = bytes_of(image) + bytes_of(gradient) + partial + HEADER
    if prod(weight.shape[2:]) == 1 and image.shape[2:] == gradient.shape[2:] and not _is_unaligned(image):
        if _is_narrow(image, weight):
            return bytes_of(image) + bytes_of(gradient) + 124 * size
        return min(4 * count * elements, whole)
    return _padded(image, 8) - bytes_of(image) + whole if half and image.shape[1] < 8 else whole


def _first_layer(image: TensorInfo, weight: TensorInfo, gradient: TensorInfo) -> int:
    """Colours: the image is padded, and partial sums are many times the small weight."""
    kernel, is_half = weight.shape[2], item_size(image.dtype) < 4
    if prod(weight.shape[2:]) == 1 or (kernel < 7 and not is_half):
        return 0
    if kernel < 7:
        return _padded(image, 8) + bytes_of(gradient) + 2 * MIB
    if kernel >= PATCH:
        padding, times = (8, 7) if is_half else (4, 1)
    else:
        padding, times = 4, (17 if is_half else 121)
    return _padded(image, padding) + bytes_of(gradient) + times * _padded(weight, padding)


def _is_narrow(image: TensorInfo, weight: TensorInfo) -> bool:
    """Few channels, few but large images: a pointwise weight's gradient is summed as any other kernel's is."""
    is_half = item_size(image.dtype) < 4
    out, channels = weight.shape[:2]
    pixels = prod(image.shape[2:])
    return (
        min(out, channels) >= 32
        and max(out, channels) <= (32 if is_half else 64)
        and image.shape[0] <= (8 if is_half else 16)
        and pixels >= (3136 if max(out, channels) <= 32 else 4096)
    )


def _is_depthwise(image: TensorInfo, weight: TensorInfo) -> bool:
    return weight.shape[1] == 1 and image.shape[1] > 1


def _is_channels_last(tensor: TensorInfo) -> bool:
    return tensor.stride[1] == 1 and tensor.shape[1] > 1


def _is_unaligned(image: TensorInfo) -> bool:
    """Small images whose pixels are no multiple of what a kernel reads at once."""
    pixels = prod(image.shape[2:])
    return pixels % 8 != 0 and pixels <= 100


def _is_disordered(gradient: TensorInfo, image: TensorInfo) -> bool:
    """Whether a gradient lies in another order than the image it belongs to."""
    if gradient.shape[1] == 1 or prod(gradient.shape[2:]) == 1:
        return False
    return _is_channels_last(gradient) != _is_channels_last(image)


def _padded(tensor: TensorInfo, multiple: int) -> int:
    """Bytes with the channels padded."""
    images, channels, *pixels = tensor.shape
    return images * (-(-channels // multiple) * multiple) * prod(pixels) * item_size(tensor.dtype)


def _optional(size: int, *, after: int = 1, until: int | None = None) -> Temporaries:
    if size <= 0:
        return ()
    block = Temporary(size, after=after, is_optional=True)
    return (block,) if until is None else (Temporary(size, after, until, is_optional=True),)


RULES: dict[str, Rule] = {
    "aten.convolution": forward,
    "aten.cudnn_convolution": forward,
    "aten._convolution": forward,
    "aten.convolution_backward": backward,
}
