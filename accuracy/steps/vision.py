"""Steps of torchvision models and of other networks that are not language models."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import torch
import torchvision
from torch import nn
from torch.nn import functional as F
from training import Step, images, parameter_dtype, train


def classifier(
    name: str, samples: int, precision: str, *, pixels: int = 224, channels_last: bool = False,
    compiled: bool = False, **loop: Any,
) -> Step:  # fmt: skip
    """A step of one of torchvision's classification models."""
    dtype = parameter_dtype(precision)
    model = torchvision.models.get_model(name).to("cuda", dtype)
    if channels_last:
        model = model.to(memory_format=torch.channels_last)
    called = torch.compile(model) if compiled else model

    def loss_of(pictures: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        answer = called(pictures)
        return F.cross_entropy(answer if isinstance(answer, torch.Tensor) else answer.logits, labels)

    batch = images(samples, pixels, dtype=dtype, channels_last=channels_last)
    return train(model, batch, loss_of, precision=precision, **loop)


def vit_b_16_amp() -> Step:
    return classifier("vit_b_16", 64, "amp-bf16")


def vit_l_16_bf16() -> Step:
    return classifier("vit_l_16", 48, "bf16")


def vit_b_32_fp32() -> Step:
    return classifier("vit_b_32", 128, "fp32")


def resnet18_fp32() -> Step:
    return classifier("resnet18", 256, "fp32", optimizer="sgdm", clip=None)


def resnet50_fp32() -> Step:
    return classifier("resnet50", 128, "fp32", optimizer="sgdm", clip=None)


def resnet50_amp_channels_last() -> Step:
    return classifier("resnet50", 256, "amp-bf16", optimizer="sgdm", clip=None, channels_last=True)


def resnet101_amp_fp16() -> Step:
    return classifier("resnet101", 96, "amp-fp16", optimizer="sgdm", clip=None)


def convnext_tiny_amp() -> Step:
    return classifier("convnext_tiny", 128, "amp-bf16")


def convnext_base_bf16_channels_last() -> Step:
    return classifier("convnext_base", 64, "bf16", channels_last=True)


def efficientnet_b3_amp() -> Step:
    return classifier("efficientnet_b3", 64, "amp-bf16", pixels=300, optimizer="rmsprop", clip=None)


def efficientnet_v2_s_fp32() -> Step:
    return classifier("efficientnet_v2_s", 48, "fp32", pixels=256)


def mobilenet_v3_large_amp() -> Step:
    return classifier("mobilenet_v3_large", 256, "amp-bf16", optimizer="sgdm", clip=None)


def regnet_y_8gf_amp() -> Step:
    return classifier("regnet_y_8gf", 64, "amp-bf16", optimizer="sgdm", clip=None, channels_last=True)


def densenet121_fp32() -> Step:
    return classifier("densenet121", 64, "fp32", optimizer="sgdm", clip=None)


def swin_t_amp() -> Step:
    return classifier("swin_t", 64, "amp-bf16")


def vgg16_amp() -> Step:
    return classifier("vgg16", 64, "amp-bf16", optimizer="sgdm", clip=None)


def resnet50_compiled() -> Step:
    return classifier(
        "resnet50", 128, "amp-bf16", optimizer="sgdm", clip=None, channels_last=True, compiled=True
    )


def vit_b_16_compiled() -> Step:
    return classifier("vit_b_16", 64, "amp-bf16", compiled=True)


class Residual(nn.Module):
    """A residual block of a diffusion network."""

    def __init__(self, inside: int, outside: int) -> None:
        super().__init__()
        self.first = nn.Sequential(
            nn.GroupNorm(32, inside), nn.SiLU(), nn.Conv2d(inside, outside, 3, padding=1)
        )
        self.time = nn.Linear(512, outside)
        self.second = nn.Sequential(
            nn.GroupNorm(32, outside), nn.SiLU(), nn.Conv2d(outside, outside, 3, padding=1)
        )
        self.skip = nn.Conv2d(inside, outside, 1) if inside != outside else nn.Identity()

    def forward(self, x: torch.Tensor, time: torch.Tensor) -> torch.Tensor:
        middle = self.first(x) + self.time(F.silu(time))[:, :, None, None]
        return self.second(middle) + self.skip(x)


class Denoiser(nn.Module):
    """A small U-net as diffusion models use it."""

    def __init__(self, width: int = 128) -> None:
        super().__init__()
        widths = [width, 2 * width, 4 * width]
        self.enter = nn.Conv2d(3, width, 3, padding=1)
        self.down = nn.ModuleList(Residual(a, b) for a, b in zip([width, *widths], widths, strict=False))
        self.middle = Residual(widths[-1], widths[-1])
        self.up = nn.ModuleList(
            Residual(a + b, b) for a, b in zip([widths[-1], *widths[:0:-1]], widths[::-1], strict=True)
        )
        self.leave = nn.Conv2d(width, 3, 3, padding=1)

    def forward(self, x: torch.Tensor, time: torch.Tensor) -> torch.Tensor:
        x = self.enter(x)
        kept = []
        for block in self.down:
            x = block(x, time)
            kept.append(x)
            x = F.avg_pool2d(x, 2)
        x = self.middle(x, time)
        for block, beside in zip(self.up, reversed(kept), strict=True):
            x = block(torch.cat((F.interpolate(x, scale_factor=2.0), beside), 1), time)
        return self.leave(x)


def denoiser_amp() -> Step:
    model = Denoiser().to("cuda")

    def batch() -> tuple[torch.Tensor, ...]:
        return (
            torch.randn(32, 3, 64, 64, device="cuda"),
            torch.randn(32, 512, device="cuda"),
            torch.randn(32, 3, 64, 64, device="cuda"),
        )

    return train(model, batch, lambda x, t, y: F.mse_loss(model(x, t).float(), y), precision="amp-bf16")


class Recurrent(nn.Module):
    """A recurrent language model on cuDNN's LSTM."""

    def __init__(self, vocabulary: int = 20000, width: int = 1024) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.recurrent = nn.LSTM(width, width, num_layers=2, batch_first=True, dropout=0.2)
        self.head = nn.Linear(width, vocabulary)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.head(self.recurrent(self.embedding(ids))[0])


def lstm_fp32() -> Step:
    model = Recurrent().to("cuda")

    def batch() -> tuple[torch.Tensor, ...]:
        return torch.randint(0, 20000, (64, 256), device="cuda"), torch.randint(
            0, 20000, (64, 256), device="cuda"
        )

    return train(
        model, batch, lambda x, y: F.cross_entropy(model(x).flatten(0, 1), y.flatten()), precision="fp32",
        optimizer="sgd", clip=0.25,
    )  # fmt: skip


def encoder_layers_fp32() -> Step:
    model = nn.Sequential(
        nn.TransformerEncoder(nn.TransformerEncoderLayer(768, 12, 3072, batch_first=True), 8),
        nn.Linear(768, 100),
    ).to("cuda")

    def batch() -> tuple[torch.Tensor, ...]:
        return torch.randn(16, 512, 768, device="cuda"), torch.randint(0, 100, (16,), device="cuda")

    return train(model, batch, lambda x, y: F.cross_entropy(model(x).mean(1), y), precision="fp32")


def perceptron_tabular() -> Step:
    widths = [512, 8192, 8192, 8192, 64]
    layers: list[nn.Module] = []
    for inside, outside in pairwise(widths):
        layers += [
            nn.Linear(inside, outside),
            nn.BatchNorm1d(outside),
            nn.ReLU(inplace=True),
            nn.Dropout(0.1),
        ]
    model = nn.Sequential(*layers).to("cuda")

    def batch() -> tuple[torch.Tensor, ...]:
        return torch.randn(16384, 512, device="cuda"), torch.randint(0, 64, (16384,), device="cuda")

    return train(model, batch, lambda x, y: F.cross_entropy(model(x), y), precision="fp32", clip=None)
