"""Convolutions of the usual vision models: forward, and both gradients in one operation as autograd asks."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from typing import Any

import torch

from accuracy.timing.cases import Case, tensor

aten = torch.ops.aten
BF16, FP16, FP32 = torch.bfloat16, torch.float16, torch.float32

# in channels, out channels, image side, kernel, stride, groups
LAYERS: list[tuple[int, int, int, int, int, int]] = [
    (3, 64, 224, 7, 2, 1),
    (3, 64, 224, 3, 1, 1),
    (3, 96, 224, 4, 4, 1),
    (3, 768, 224, 16, 16, 1),
    (3, 1024, 224, 14, 14, 1),
    (3, 32, 224, 3, 2, 1),
    (64, 64, 56, 1, 1, 1),
    (64, 64, 56, 3, 1, 1),
    (64, 256, 56, 1, 1, 1),
    (256, 64, 56, 1, 1, 1),
    (256, 128, 56, 1, 1, 1),
    (128, 128, 56, 3, 2, 1),
    (128, 512, 28, 1, 1, 1),
    (256, 512, 56, 1, 2, 1),
    (128, 128, 28, 3, 1, 1),
    (256, 256, 28, 3, 2, 1),
    (256, 1024, 14, 1, 1, 1),
    (1024, 256, 14, 1, 1, 1),
    (256, 256, 14, 3, 1, 1),
    (512, 512, 14, 3, 2, 1),
    (512, 2048, 7, 1, 1, 1),
    (2048, 512, 7, 1, 1, 1),
    (512, 512, 7, 3, 1, 1),
    (64, 64, 224, 3, 1, 1),
    (128, 128, 112, 3, 1, 1),
    (256, 256, 56, 3, 1, 1),
    (512, 512, 28, 3, 1, 1),
    (96, 96, 56, 7, 1, 96),
    (192, 192, 28, 7, 1, 192),
    (384, 384, 14, 7, 1, 384),
    (768, 768, 7, 7, 1, 768),
    (96, 192, 56, 2, 2, 1),
    (384, 768, 14, 2, 2, 1),
    (32, 32, 112, 3, 1, 32),
    (96, 96, 112, 3, 2, 96),
    (144, 144, 56, 5, 2, 144),
    (240, 240, 28, 3, 2, 240),
    (480, 480, 14, 5, 1, 480),
    (672, 672, 14, 5, 2, 672),
    (1152, 1152, 7, 3, 1, 1152),
    (16, 96, 112, 1, 1, 1),
    (144, 24, 56, 1, 1, 1),
    (40, 240, 28, 1, 1, 1),
    (192, 1152, 7, 1, 1, 1),
    (480, 20, 1, 1, 1, 1),
    (128, 128, 56, 3, 1, 32),
    (256, 256, 28, 3, 1, 32),
    (512, 512, 14, 3, 1, 32),
    (112, 112, 28, 3, 1, 14),
    (320, 320, 64, 3, 1, 1),
    (640, 640, 32, 3, 1, 1),
    (1280, 1280, 16, 3, 1, 1),
    (128, 32, 28, 3, 1, 1),
    (512, 128, 28, 1, 1, 1),
]


def convolution_cases(device: str) -> Iterator[Case]:
    """About 330 operations; batch and arithmetic are drawn, so that every layer is seen in several ways."""
    draw = random.Random(5)
    for layer in LAYERS:
        for dtype, last in ((FP32, False), (BF16, False), (BF16, True)):
            batch = draw.choice([8, 16, 32, 64, 64, 128, 128, 256])
            yield from _convolution(layer, _bounded(layer, batch), dtype, device, last=last)
    for layer in draw.sample(LAYERS, 16):
        yield from _convolution(layer, _bounded(layer, 2), FP32, device, last=False)
        yield from _convolution(layer, _bounded(layer, 64), FP32, device, last=True)
        yield from _convolution(layer, _bounded(layer, 64), FP16, device, last=draw.random() < 0.5)


MODELS = (
    "alexnet convnext_small densenet121 efficientnet_b0 efficientnet_b2 efficientnet_b4 efficientnet_v2_s "
    "mnasnet1_0 mobilenet_v2 mobilenet_v3_large mobilenet_v3_small regnet_x_1_6gf regnet_x_8gf "
    "regnet_y_1_6gf regnet_y_3_2gf resnet18 resnet34 resnet152 resnext50_32x4d shufflenet_v2_x1_0 squeezenet1_1 "
    "vgg11_bn vgg19 wide_resnet50_2 maxvit_t"
).split()


def harvested_cases(device: str) -> Iterator[Case]:
    """Convolutions of models people train, gathered by running the models on tensors without data."""
    draw = random.Random(6)
    seen: set[Any] = set()
    for name in MODELS:
        try:
            layers = _layers_of(name, draw)
        except Exception as error:  # a model that cannot be built without data must not take the others down
            print(f"  {name}: {type(error).__name__}", flush=True)
            continue
        draw.shuffle(layers)
        for layer in layers[:12]:
            dtype, last = draw.choice(
                ((FP32, False), (BF16, False), (BF16, False), (BF16, True), (FP16, False))
            )
            key = (layer, dtype, last)
            if key not in seen:
                seen.add(key)
                yield from _convolution(layer, 0, dtype, device, last=last)


def _layers_of(name: str, draw: random.Random) -> list[Any]:
    """Distinct convolutions of a model at a drawn batch: batch, channels, side, kernel, stride, groups, padding."""
    from torchvision import models

    batch = draw.choice([16, 32, 48, 64, 96, 128, 192, 256])
    found: set[Any] = set()

    def note(module: torch.nn.Conv2d, inputs: Any, _output: Any) -> None:
        shape = tuple(inputs[0].shape)
        plain = (module.kernel_size, module.stride, module.padding, module.dilation)
        found.add((shape, module.out_channels, module.groups, plain))

    with torch.device("meta"):
        model = models.get_model(name)
        for module in model.modules():
            if isinstance(module, torch.nn.Conv2d):
                module.register_forward_hook(note)
        with torch.no_grad():
            model(torch.empty(batch, 3, 224, 224))
    return sorted(each for each in found if math.prod(each[0]) < 2.5e8)


def _bounded(layer: Any, batch: int) -> int:
    """A batch whose tensors stay under about 2 GB and whose work stays short."""
    narrow, wide, side, kernel, stride, groups = layer
    work = 2.0 * narrow * wide * kernel**2 * (side / stride) ** 2 / groups
    return max(1, min(batch, int(4e11 / work), int(4e8 / (max(narrow, wide) * side**2))))


def _convolution(layer: Any, batch: int, dtype: torch.dtype, device: str, *, last: bool) -> Iterator[Case]:
    if batch:
        narrow, wide, side, kernel, stride, groups = layer
        padding = kernel // 2 if stride < kernel or kernel == 1 else 0
        shape = (batch, narrow, side, side)
        window, plain = (kernel, kernel), ([stride] * 2, [padding] * 2, [1, 1], False, [0, 0], groups)
    else:
        shape, wide, groups, (window, strides, paddings, dilation) = layer
        plain = (list(strides), list(paddings), list(dilation), False, [0, 0], groups)
    wanted = [shape[1] != 3, True, False]

    def laid(value: torch.Tensor) -> torch.Tensor:
        return value.to(memory_format=torch.channels_last) if last else value

    def ahead() -> tuple[Any, ...]:
        weight = tensor((wide, shape[1] // groups, *window), dtype, device)
        return laid(tensor(shape, dtype, device)), laid(weight), None, *plain

    def back() -> tuple[Any, ...]:
        image, weight, *_ = ahead()
        grad = torch.randn_like(aten.convolution.default(image, weight, None, *plain))
        return grad, image, weight, [0], *plain, wanted

    yield Case("convolution", aten.convolution.default, ahead, kernels=8)
    yield Case("convolution", aten.convolution_backward.default, back, kernels=16)
