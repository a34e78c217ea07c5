"""Pictures: torchvision's networks at sizes that are not round, and networks people draw themselves.

U-nets with attention, a diffusion transformer, an autoencoder, averages of weights, label smoothing and mixed batches.
"""

from __future__ import annotations

import copy
from typing import Any

import torch
import torchvision
from torch import nn
from torch.nn import functional as F
from training import Step, train
from vision import classifier


def later_resnet50_adamw() -> Step:
    return classifier("resnet50", 100, "fp32", pixels=208, optimizer="adamw")


def later_resnet152_channels_last() -> Step:
    return classifier(
        "resnet152", 72, "amp-bf16", pixels=176, optimizer="sgdm", clip=None, channels_last=True
    )


def later_resnet34_pure_half() -> Step:
    return classifier("resnet34", 150, "bf16", pixels=240, optimizer="sgdm", clip=None)


def later_resnet18_fp16_small() -> Step:
    return classifier("resnet18", 500, "amp-fp16", pixels=96, optimizer="sgdm", clip=None, channels_last=True)


def later_efficientnet_b2_fp16() -> Step:
    return classifier("efficientnet_b2", 56, "amp-fp16", pixels=260, optimizer="rmsprop", clip=None)


def later_efficientnet_v2_m_half() -> Step:
    return classifier("efficientnet_v2_m", 30, "bf16", pixels=300, channels_last=True)


def later_swin_v2_fp16() -> Step:
    return classifier("swin_v2_t", 38, "amp-fp16", pixels=256)


def later_vit_b_32_amp() -> Step:
    return classifier("vit_b_32", 210, "amp-bf16", optimizer="adamw-fused", accumulation=2)


def later_mobilenet_v3_small_fp32() -> Step:
    return classifier("mobilenet_v3_small", 330, "fp32", optimizer="rmsprop", clip=None)


def later_densenet169_amp() -> Step:
    return classifier("densenet169", 44, "amp-bf16", pixels=200, optimizer="sgdm", clip=None)


def later_resnet50_compiled() -> Step:
    return classifier(
        "resnet50", 90, "amp-bf16", pixels=208, optimizer="sgdm", clip=None, channels_last=True, compiled=True
    )


def later_convnext_small_averaged() -> Step:
    """Mixed batches, label smoothing, an average that follows the weights."""
    model = torchvision.models.convnext_small().to("cuda")
    follower = copy.deepcopy(model).requires_grad_(False)
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3, weight_decay=0.05)
    loss_of = nn.CrossEntropyLoss(label_smoothing=0.1)

    def step() -> None:
        x = torch.randn(50, 3, 192, 192, device="cuda")
        y = F.one_hot(torch.randint(0, 1000, (50,), device="cuda"), 1000).float()
        x, y = 0.7 * x + 0.3 * x.roll(1, 0), 0.7 * y + 0.3 * y.roll(1, 0)
        with torch.autocast("cuda", torch.bfloat16):
            loss = loss_of(model(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        optimizer.zero_grad()
        torch._foreach_lerp_(list(follower.parameters()), list(model.parameters()), 0.001)

    return step


def later_segmentation_fcn() -> Step:
    model = torchvision.models.segmentation.fcn_resnet50(weights=None, weights_backbone=None, num_classes=19)
    model = model.to("cuda")

    def batch() -> tuple[torch.Tensor, ...]:
        return torch.randn(7, 3, 320, 416, device="cuda"), torch.randint(0, 19, (7, 320, 416), device="cuda")

    return train(
        model, batch, lambda x, y: F.cross_entropy(model(x)["out"], y, ignore_index=255), precision="amp-bf16",
        optimizer="sgdm", clip=None,
    )  # fmt: skip


def twice(inside: int, outside: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(inside, outside, 3, padding=1), nn.BatchNorm2d(outside), nn.ReLU(inplace=True),
        nn.Conv2d(outside, outside, 3, padding=1), nn.BatchNorm2d(outside), nn.ReLU(inplace=True),
    )  # fmt: skip


class UNet(nn.Module):
    """The classic one: four levels, pooling down, transposed convolutions up."""

    def __init__(self, width: int = 64, classes: int = 4) -> None:
        super().__init__()
        sizes = [width * 2**n for n in range(5)]
        self.down = nn.ModuleList(twice(a, b) for a, b in zip([3, *sizes], sizes, strict=False))
        self.rise = nn.ModuleList(nn.ConvTranspose2d(2 * a, a, 2, stride=2) for a in sizes[:-1])
        self.up = nn.ModuleList(twice(2 * a, a) for a in sizes[:-1])
        self.out = nn.Conv2d(width, classes, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        kept = []
        for level, block in enumerate(self.down):
            x = block(x)
            if level < 4:
                kept.append(x)
                x = F.max_pool2d(x, 2)
        for level in reversed(range(4)):
            x = self.up[level](torch.cat([kept[level], self.rise[level](x)], dim=1))
        return self.out(x)


def later_unet_amp() -> Step:
    model = UNet().to("cuda")

    def batch() -> tuple[torch.Tensor, ...]:
        return torch.randn(7, 3, 304, 304, device="cuda"), torch.randint(0, 4, (7, 304, 304), device="cuda")

    return train(
        model, batch, lambda x, y: F.cross_entropy(model(x), y), precision="amp-bf16", optimizer="adam"
    )


def later_unet_fp32_forloop() -> Step:
    model = UNet(width=48).to("cuda")

    def batch() -> tuple[torch.Tensor, ...]:
        return torch.randn(10, 3, 208, 208, device="cuda"), torch.randint(0, 4, (10, 208, 208), device="cuda")

    return train(
        model,
        batch,
        lambda x, y: F.cross_entropy(model(x), y),
        precision="fp32",
        optimizer="adamw-forloop",
        clip=None,
    )


class TimedBlock(nn.Module):
    """A residual block of a diffusion model: two norms, the time added in the middle, dropout."""

    def __init__(self, inside: int, outside: int, time: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.GroupNorm(32, inside), nn.GroupNorm(32, outside)
        self.conv1 = nn.Conv2d(inside, outside, 3, padding=1)
        self.conv2 = nn.Conv2d(outside, outside, 3, padding=1)
        self.time, self.drop = nn.Linear(time, outside), nn.Dropout(0.1)
        self.skip = nn.Conv2d(inside, outside, 1) if inside != outside else nn.Identity()

    def forward(self, x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
        h = self.conv1(F.silu(self.norm1(x))) + self.time(F.silu(t))[..., None, None]
        return self.conv2(self.drop(F.silu(self.norm2(h)))) + self.skip(x)


class PlaneAttention(nn.Module):
    """Attention over the places of a picture."""

    def __init__(self, width: int, heads: int = 4) -> None:
        super().__init__()
        self.heads, self.norm = heads, nn.GroupNorm(32, width)
        self.qkv, self.out = nn.Conv2d(width, 3 * width, 1), nn.Conv2d(width, width, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        b, c, h, w = x.shape
        q, k, v = self.qkv(self.norm(x)).reshape(b, 3, self.heads, c // self.heads, h * w).unbind(1)
        y = F.scaled_dot_product_attention(q.transpose(-1, -2), k.transpose(-1, -2), v.transpose(-1, -2))
        return x + self.out(y.transpose(-1, -2).reshape(b, c, h, w))


class Diffusion(nn.Module):
    """A U-net that is told the time, with attention on its lower levels."""

    def __init__(self, width: int = 96) -> None:
        super().__init__()
        sizes, time = [width, 2 * width, 3 * width], 4 * width
        self.width = width
        self.embed = nn.Sequential(nn.Linear(width, time), nn.SiLU(), nn.Linear(time, time))
        self.enter = nn.Conv2d(3, width, 3, padding=1)
        self.down = nn.ModuleList(
            TimedBlock(a, b, time) for a, b in zip([width, *sizes], sizes, strict=False)
        )
        self.shrink = nn.ModuleList(nn.Conv2d(s, s, 3, stride=2, padding=1) for s in sizes)
        self.look = nn.ModuleList((nn.Identity(), PlaneAttention(sizes[1]), PlaneAttention(sizes[2])))
        self.middle = nn.ModuleList((TimedBlock(sizes[2], sizes[2], time), PlaneAttention(sizes[2])))
        self.up = nn.ModuleList(
            TimedBlock(a + b, b, time) for a, b in zip([sizes[2], *sizes[:0:-1]], sizes[::-1], strict=True)
        )
        self.leave = nn.Sequential(nn.GroupNorm(32, width), nn.SiLU(), nn.Conv2d(width, 3, 3, padding=1))

    def forward(self, x: torch.Tensor, when: torch.Tensor) -> torch.Tensor:
        speed = torch.exp(-torch.arange(self.width // 2, device=x.device) * 0.2)
        angle = when[:, None].float() * speed[None]
        t = self.embed(torch.cat((angle.sin(), angle.cos()), 1))
        x, kept = self.enter(x), []
        for block, look, shrink in zip(self.down, self.look, self.shrink, strict=True):
            x = look(block(x, t))
            kept.append(x)
            x = shrink(x)
        x = self.middle[1](self.middle[0](x, t))
        for block in self.up:
            x = F.interpolate(x, scale_factor=2, mode="nearest")
            x = block(torch.cat((x, kept.pop()), 1), t)
        return self.leave(x)


def denoising(model: nn.Module, follower: nn.Module | None, samples: int, pixels: int, half: Any) -> Step:
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    levels = torch.linspace(0.9999, 0.01, 1000, device="cuda")

    def step() -> None:
        x = torch.randn(samples, 3, pixels, pixels, device="cuda")
        when = torch.randint(0, 1000, (samples,), device="cuda")
        noise = torch.randn_like(x)
        level = levels[when].view(-1, 1, 1, 1)
        noisy = level.sqrt() * x + (1 - level).sqrt() * noise
        with torch.autocast("cuda", half, enabled=half is not None):
            loss = F.mse_loss(model(noisy, when), noise)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        if follower is not None:
            with torch.no_grad():
                for mine, theirs in zip(follower.parameters(), model.parameters(), strict=True):
                    mine.lerp_(theirs, 0.0001)

    return step


def later_diffusion_averaged_amp() -> Step:
    model = Diffusion().to("cuda")
    return denoising(model, copy.deepcopy(model).requires_grad_(False), 22, 64, torch.bfloat16)


def later_diffusion_fp32() -> Step:
    return denoising(Diffusion(64).to("cuda"), None, 14, 96, None)


def modulated(x: torch.Tensor, shift: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    return x * (1 + scale.unsqueeze(1)) + shift.unsqueeze(1)


class Modulated(nn.Module):
    """A transformer block whose norms are set by the time."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(width, elementwise_affine=False)
        self.norm2 = nn.LayerNorm(width, elementwise_affine=False)
        self.attn = nn.MultiheadAttention(width, heads, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU("tanh"), nn.Linear(4 * width, width))
        self.set = nn.Sequential(nn.SiLU(), nn.Linear(width, 6 * width))

    def forward(self, x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
        a, b, c, d, e, f = self.set(t).chunk(6, 1)
        y = modulated(self.norm1(x), a, b)
        x = x + c.unsqueeze(1) * self.attn(y, y, y, need_weights=False)[0]
        return x + f.unsqueeze(1) * self.mlp(modulated(self.norm2(x), d, e))


class PatchDiffusion(nn.Module):
    """A diffusion transformer on patches."""

    def __init__(self, width: int = 768, layers: int = 12, pixels: int = 64, patch: int = 4) -> None:
        super().__init__()
        self.width, self.patch = width, patch
        self.cut = nn.Conv2d(3, width, patch, stride=patch)
        self.where = nn.Parameter(torch.zeros(1, (pixels // patch) ** 2, width))
        self.time = nn.Sequential(nn.Linear(256, width), nn.SiLU(), nn.Linear(width, width))
        self.blocks = nn.ModuleList(Modulated(width, width // 64) for _ in range(layers))
        self.out = nn.Linear(width, 3 * patch * patch)

    def forward(self, x: torch.Tensor, when: torch.Tensor) -> torch.Tensor:
        b, _, h, w = x.shape
        angle = when[:, None].float() * torch.exp(-torch.arange(128, device=x.device) * 0.07)[None]
        t = self.time(torch.cat((angle.cos(), angle.sin()), 1))
        y = self.cut(x).flatten(2).transpose(1, 2) + self.where
        for block in self.blocks:
            y = block(y, t)
        p, n, m = self.patch, h // self.patch, w // self.patch
        return self.out(y).view(b, n, m, p, p, 3).permute(0, 5, 1, 3, 2, 4).reshape(b, 3, h, w)


def later_diffusion_transformer_amp() -> Step:
    model = PatchDiffusion().to("cuda")
    return denoising(model, copy.deepcopy(model).requires_grad_(False), 42, 64, torch.bfloat16)


def later_autoencoder_fp32() -> Step:
    """Down by strides to a distribution, up by transposed convolutions."""
    widths = (64, 128, 256, 512)
    down: list[nn.Module] = []
    for a, b in zip((3, *widths), widths, strict=False):
        down += [nn.Conv2d(a, b, 4, 2, 1), nn.BatchNorm2d(b), nn.LeakyReLU(0.2)]
    rise: list[nn.Module] = []
    for a, b in zip(widths[::-1], (256, 128, 64, 3), strict=True):
        rise += [
            nn.ConvTranspose2d(a, b, 4, 2, 1),
            *([nn.BatchNorm2d(b), nn.ReLU()] if b > 3 else [nn.Sigmoid()]),
        ]
    middle, start = nn.Linear(512 * 64, 512), nn.Linear(256, 512 * 64)
    model = nn.ModuleList((nn.Sequential(*down), middle, start, nn.Sequential(*rise))).to("cuda")

    def loss_of(x: torch.Tensor) -> torch.Tensor:
        mean, spread = model[1](model[0](x).flatten(1)).chunk(2, 1)
        code = mean + torch.randn_like(spread) * (0.5 * spread).exp()
        again = model[3](model[2](code).view(-1, 512, 8, 8))
        apart = -0.5 * torch.mean(1 + spread - mean.pow(2) - spread.exp())
        return F.binary_cross_entropy(again, x) + 0.01 * apart

    return train(
        model, lambda: (torch.rand(70, 3, 128, 128, device="cuda"),), loss_of, precision="fp32", optimizer="adam",
        clip=None,
    )  # fmt: skip
