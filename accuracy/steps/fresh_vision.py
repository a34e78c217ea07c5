"""Pictures, sound and sequences through convolutions and recurrences that no rule was read off.

Transposed and dilated convolutions, three dimensions, fp16 with a scaler, two networks that train each other, and
torchvision's models for segmentation and video.
"""

from __future__ import annotations

import itertools
from typing import Any

import torch
import torchvision
from torch import nn
from torch.nn import functional as F
from training import Step, train
from vision import classifier


def double(inside: int, outside: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(inside, outside, 3, padding=1, bias=False), nn.GroupNorm(8, outside), nn.LeakyReLU(0.1, inplace=True),
        nn.Conv2d(outside, outside, 3, padding=1, bias=False), nn.GroupNorm(8, outside),
        nn.LeakyReLU(0.1, inplace=True),
    )  # fmt: skip


class Segmenter(nn.Module):
    """A U-net with strided pooling on the way down and transposed convolutions on the way up."""

    def __init__(self, widths: tuple[int, ...] = (48, 96, 192, 384)) -> None:
        super().__init__()
        self.down = nn.ModuleList(double(a, b) for a, b in zip((3, *widths), widths, strict=False))
        self.grow = nn.ModuleList(nn.ConvTranspose2d(b, a, 2, 2) for a, b in itertools.pairwise(widths))
        self.up = nn.ModuleList(double(2 * a, a) for a in widths[:-1])
        self.leave = nn.Conv2d(widths[0], 5, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        kept = []
        for number, block in enumerate(self.down):
            x = block(F.max_pool2d(x, 2) if number else x)
            kept.append(x)
        for grow, up, beside in zip(self.grow[::-1], self.up[::-1], kept[-2::-1], strict=True):
            x = up(torch.cat((grow(x), beside), 1))
        return self.leave(x)


def fresh_segmenter_fp16_channels_last() -> Step:
    model = Segmenter().to("cuda", memory_format=torch.channels_last)

    def batch() -> tuple[torch.Tensor, ...]:
        pictures = torch.randn(12, 3, 256, 256, device="cuda").to(memory_format=torch.channels_last)
        return pictures, torch.randint(0, 5, (12, 256, 256), device="cuda")

    def loss_of(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        said = model(x)
        share = said.float().softmax(1)
        wanted = F.one_hot(y, 5).permute(0, 3, 1, 2).float()
        dice = 1 - (2 * (share * wanted).sum((2, 3)) / (share + wanted).sum((2, 3))).mean()
        return F.cross_entropy(said, y) + dice

    return train(model, batch, loss_of, precision="amp-fp16", optimizer="adamw")


def fresh_two_networks() -> Step:
    """A generator and a discriminator, two optimizers, three backward passes."""
    widths = (512, 256, 128, 64)
    generator = nn.Sequential(
        nn.ConvTranspose2d(128, widths[0], 4), nn.BatchNorm2d(widths[0]), nn.ReLU(inplace=True),
        *(layer for a, b in itertools.pairwise(widths) for layer in (
            nn.ConvTranspose2d(a, b, 4, 2, 1), nn.BatchNorm2d(b), nn.ReLU(inplace=True))),
        nn.ConvTranspose2d(widths[-1], 3, 4, 2, 1), nn.Tanh(),
    ).to("cuda")  # fmt: skip
    judge = nn.Sequential(
        nn.utils.parametrizations.spectral_norm(nn.Conv2d(3, 64, 4, 2, 1)), nn.LeakyReLU(0.2, inplace=True),
        *(layer for a, b in ((64, 128), (128, 256), (256, 512)) for layer in (
            nn.utils.parametrizations.spectral_norm(nn.Conv2d(a, b, 4, 2, 1)), nn.LeakyReLU(0.2, inplace=True))),
        nn.Conv2d(512, 1, 4),
    ).to("cuda")  # fmt: skip
    first = torch.optim.Adam(generator.parameters(), lr=2e-4, betas=(0.5, 0.999))
    second = torch.optim.Adam(judge.parameters(), lr=2e-4, betas=(0.5, 0.999))

    def step() -> None:
        real = torch.randn(256, 3, 64, 64, device="cuda")
        made = generator(torch.randn(256, 128, 1, 1, device="cuda"))
        judge.zero_grad()
        F.softplus(-judge(real)).mean().backward()
        F.softplus(judge(made.detach())).mean().backward()
        second.step()
        generator.zero_grad()
        F.softplus(-judge(made)).mean().backward()
        first.step()

    return step


def fresh_gradient_penalty() -> Step:
    """A loss on a gradient: the backward pass is itself differentiated."""
    judge = nn.Sequential(
        nn.Linear(3072, 4096), nn.SiLU(), nn.Linear(4096, 4096), nn.SiLU(), nn.Linear(4096, 1)
    ).to("cuda")

    def loss_of(x: torch.Tensor) -> torch.Tensor:
        x.requires_grad_(True)
        said = judge(x)
        (slope,) = torch.autograd.grad(said.sum(), x, create_graph=True)
        return said.mean() + (slope.norm(2, 1) - 1).square().mean()

    return train(
        judge, lambda: (torch.randn(16384, 3072, device="cuda"),), loss_of, precision="fp32", clip=None
    )


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(30000, 512)
        self.recurrent = nn.GRU(512, 768, num_layers=3, bidirectional=True, batch_first=True, dropout=0.1)
        self.head = nn.Linear(1536, 200)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.head(self.recurrent(self.table(ids))[0].amax(1))


def fresh_gru_both_ways() -> Step:
    model = Recurrent().to("cuda")

    def batch() -> tuple[torch.Tensor, ...]:
        return torch.randint(0, 30000, (128, 160), device="cuda"), torch.randint(
            0, 200, (128,), device="cuda"
        )

    return train(model, batch, lambda x, y: F.cross_entropy(model(x), y), precision="fp32")


class Dilated(nn.Module):
    """Gated residual layers on a wave, each looking twice as far back."""

    def __init__(self, width: int, far: int) -> None:
        super().__init__()
        self.far = far
        self.gate = nn.Conv1d(width, 2 * width, 3, dilation=far)
        self.out = nn.Conv1d(width, width, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        left, right = self.gate(F.pad(x, (2 * self.far, 0))).chunk(2, 1)
        return x + self.out(left.tanh() * right.sigmoid())


def fresh_dilated_waves() -> Step:
    model = nn.Sequential(
        nn.Conv1d(1, 128, 1), *(Dilated(128, 2**n) for n in range(10)), nn.Conv1d(128, 256, 1)
    ).to("cuda")

    def batch() -> tuple[torch.Tensor, ...]:
        return torch.randn(8, 1, 16000, device="cuda"), torch.randint(0, 256, (8, 16000), device="cuda")

    return train(model, batch, lambda x, y: F.cross_entropy(model(x), y), precision="amp-bf16")


def fresh_deeplab_amp() -> Step:
    model = torchvision.models.segmentation.deeplabv3_resnet50(
        weights=None, weights_backbone=None, num_classes=21
    )
    model = model.to("cuda")

    def batch() -> tuple[torch.Tensor, ...]:
        return torch.randn(8, 3, 384, 384, device="cuda"), torch.randint(0, 21, (8, 384, 384), device="cuda")

    return train(
        model, batch, lambda x, y: F.cross_entropy(model(x)["out"], y), precision="amp-bf16", optimizer="sgdm",
        clip=None,
    )  # fmt: skip


def fresh_video_r3d() -> Step:
    model = torchvision.models.video.r3d_18(num_classes=400).to("cuda")

    def batch() -> tuple[torch.Tensor, ...]:
        return torch.randn(8, 3, 16, 112, 112, device="cuda"), torch.randint(0, 400, (8,), device="cuda")

    return train(
        model,
        batch,
        lambda x, y: F.cross_entropy(model(x), y),
        precision="amp-bf16",
        optimizer="sgdm",
        clip=None,
    )


def fresh_retinanet_fp32() -> Step:
    """Detection: which boxes are matched depends on data."""
    model = torchvision.models.detection.retinanet_resnet50_fpn_v2(
        weights=None, weights_backbone=None, min_size=512, max_size=512
    ).to("cuda")
    model.train()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)

    def target() -> dict[str, Any]:
        corner = torch.rand(6, 2, device="cuda") * 300
        boxes = torch.cat((corner, corner + 50 + torch.rand(6, 2, device="cuda") * 150), 1)
        return {"boxes": boxes, "labels": torch.randint(1, 91, (6,), device="cuda")}

    def step() -> None:
        pictures = [torch.rand(3, 512, 512, device="cuda") for _ in range(4)]
        sum(model(pictures, [target() for _ in pictures]).values()).backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


def fresh_googlenet_fp32() -> Step:
    return classifier("googlenet", 96, "fp32", optimizer="sgdm", clip=None)


def fresh_resnext50_bf16() -> Step:
    return classifier("resnext50_32x4d", 96, "bf16", optimizer="sgdm", clip=None, channels_last=True)


def fresh_shufflenet_zeroed() -> Step:
    return classifier("shufflenet_v2_x2_0", 192, "amp-fp16", set_to_none=False)


def fresh_mnasnet_amp() -> Step:
    return classifier("mnasnet1_0", 128, "amp-bf16", optimizer="rmsprop")


def fresh_maxvit_amp() -> Step:
    return classifier("maxvit_t", 24, "amp-bf16")


def fresh_resnet18_compiled() -> Step:
    return classifier("resnet18", 128, "amp-bf16", optimizer="sgdm", clip=None, compiled=True)
