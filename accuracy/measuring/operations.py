"""What single operations allocate inside, over many shapes: the evidence behind the temporaries' formulas.

Run on a machine with a GPU:  python -m accuracy.measuring.operations --out FOLDER [--limit SECONDS]

Convolutions take most of the time, because cuDNN chooses an algorithm, and with it a workspace, by shape.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
import torchvision
from torch import nn
from torch.nn import functional as F

from accuracy.measuring.histories import Annotating, _counts, _made_and_freed

Case = tuple[str, Callable[[], Any]]
BF16, FP16, FP32 = torch.bfloat16, torch.float16, torch.float32

VISION = (
    "resnet18", "resnet34", "resnet50", "resnet101", "wide_resnet50_2", "resnext50_32x4d", "convnext_tiny", "convnext_base",
    "efficientnet_b0", "efficientnet_b3", "efficientnet_b5", "efficientnet_v2_s", "efficientnet_v2_m",
    "mobilenet_v2", "mobilenet_v3_large", "regnet_y_400mf", "regnet_y_8gf", "regnet_x_3_2gf", "densenet121", "densenet169",
    "vgg11", "vgg16_bn", "alexnet", "googlenet", "inception_v3", "shufflenet_v2_x1_0", "squeezenet1_1", "mnasnet1_0",
    "vit_b_16", "vit_b_32", "vit_l_16", "swin_t", "swin_b", "maxvit_t",
)  # fmt: skip


def observed(run: Callable[[], Any]) -> list[Any]:
    """Every operation of one warm run with what it allocates inside (negative: freed before its end)."""
    run()
    torch.cuda.memory._record_memory_history(max_entries=100_000, context=None)
    made_before, freed_before = _counts()
    mode = Annotating()
    with mode:
        run()
    sizes, frees = _made_and_freed()
    torch.cuda.memory._record_memory_history(enabled=None)
    told = []
    for name, signature, begin, end in mode.seen:
        gone = set(frees[begin[1] - freed_before : end[1] - freed_before])
        made = range(begin[0] - made_before, end[0] - made_before)
        if made:
            told.append([name, signature, [-sizes[n] if n in gone else sizes[n] for n in made]])
    return told


def convolutions(seed: int = 1) -> list[tuple[str, Callable[[], Any]]]:
    """Distinct convolutions of torchvision's models at several batches, types and layouts, shuffled."""
    found: set[tuple[Any, ...]] = set()
    for name in VISION:
        with torch.device(
            "cpu" if name.startswith("regnet") else "meta"
        ):  # regnet reads values while it is built
            model = torchvision.models.get_model(name).to("meta")
        pixels = {"inception_v3": 299, "efficientnet_b3": 300, "efficientnet_b5": 456}.get(name, 224)

        def note(module: nn.Conv2d, inputs: Any, output: Any) -> None:
            _, channels, height, width = inputs[0].shape
            found.add(
                (channels, module.out_channels, height, width, module.kernel_size, module.stride, module.padding,
                 module.dilation, module.groups, module.bias is not None)
            )  # fmt: skip

        for module in model.modules():
            if isinstance(module, nn.Conv2d):
                module.register_forward_hook(note)
        with torch.no_grad():
            model.eval()(torch.zeros(1, 3, pixels, pixels, device="meta"))
    chance = random.Random(seed)
    cases = []
    for shape in sorted(found, key=str):
        for samples in chance.sample((8, 16, 24, 32, 48, 64, 96, 128, 192, 256), 3):
            for dtype, last in chance.sample(
                ((FP32, False), (BF16, False), (BF16, True), (FP16, False), (FP16, True), (FP32, True)), 3
            ):
                cases.append(
                    (f"conv {shape} {samples} {dtype} {last}", _convolution(shape, samples, dtype, last))
                )
    chance.shuffle(cases)
    return cases


def _convolution(shape: tuple[Any, ...], samples: int, dtype: torch.dtype, last: bool) -> Callable[[], Any]:
    channels, out, height, width, kernel, stride, padding, dilation, groups, bias = shape

    def run() -> None:
        layout = torch.channels_last if last else torch.contiguous_format
        x = torch.randn(samples, channels, height, width, device="cuda", dtype=dtype, requires_grad=True)
        x = x.to(memory_format=layout)
        weight = torch.randn(out, channels // groups, *kernel, device="cuda", dtype=dtype, requires_grad=True)
        weight = weight.to(memory_format=layout)
        shift = torch.randn(out, device="cuda", dtype=dtype, requires_grad=True) if bias else None
        y = F.conv2d(x, weight, shift, stride, padding, dilation, groups)
        y.backward(torch.ones_like(y))

    return run


def attention() -> Iterator[Case]:
    """Scaled dot-product attention as each kernel does it."""
    shapes = (
        (4, 12, 1024, 64),
        (2, 32, 2048, 64),
        (8, 16, 197, 64),
        (1, 8, 4096, 128),
        (3, 14, 777, 64),
        (2, 8, 512, 256),
    )
    for samples, heads, length, width in shapes:
        for dtype in (BF16, FP16, FP32):
            for causal in (True, False):
                yield (
                    f"sdpa {(samples, heads, length, width)} {dtype} causal={causal}",
                    _attention(samples, heads, length, width, dtype, is_causal=causal),
                )
        yield (
            f"sdpa dropout {length}",
            _attention(samples, heads, length, width, BF16, is_causal=True, dropout_p=0.1),
        )
        for dtype in (BF16, FP32):
            mask = (samples, 1, length, length)
            yield f"sdpa mask {length} {dtype}", _attention(samples, heads, length, width, dtype, mask=mask)
            yield (
                f"sdpa bool mask {length} {dtype}",
                _attention(samples, heads, length, width, dtype, mask=mask, boolean=True),
            )
        yield f"sdpa gqa {length}", _attention(samples, heads, length, width, BF16, groups=2, is_causal=True)


def _attention(
    samples: int, heads: int, length: int, width: int, dtype: torch.dtype, *, groups: int = 1,
    mask: tuple[int, ...] | None = None, boolean: bool = False, **options: Any,
) -> Callable[[], Any]:  # fmt: skip
    def run() -> None:
        def made(count: int) -> torch.Tensor:
            flat = torch.randn(samples, length, count, width, device="cuda", dtype=dtype, requires_grad=True)
            return flat.transpose(1, 2)

        bias = None
        if mask is not None:
            bias = (
                torch.ones(mask, device="cuda", dtype=torch.bool)
                if boolean
                else torch.zeros(mask, device="cuda", dtype=dtype)
            )
        answer = F.scaled_dot_product_attention(
            made(heads),
            made(heads // groups),
            made(heads // groups),
            attn_mask=bias,
            enable_gqa=groups > 1,
            **options,
        )
        answer.backward(torch.ones_like(answer))

    return run


def others() -> Iterator[Case]:
    """Embeddings, reductions, norms, losses, sorting, scattering, optimizers."""
    for rows, width, words in (
        (8192, 768, 50257),
        (8192, 2048, 32000),
        (512, 768, 30522),
        (16384, 896, 151936),
        (3000, 1024, 32128),
        (2048, 768, 512),
        (4096, 128, 1000),
    ):
        for dtype in (FP32, BF16):
            yield (
                f"embedding {rows} {width} {words} {dtype}",
                _with(
                    lambda r=rows, w=width, v=words, d=dtype: F.embedding(
                        torch.randint(0, v, (r,), device="cuda"), _leaf(v, w, dtype=d)
                    )
                ),
            )
    for rows, width in (
        (16384, 3072),
        (8192, 768),
        (4096, 1024),
        (12608, 3072),
        (12608, 768),
        (65536, 1024),
        (1000, 5000),
        (64, 1000),
        (32768, 8192),
    ):
        for dtype in (FP32, BF16):
            for dim in (0, 1):
                yield (
                    f"sum {rows} {width} {dim} {dtype}",
                    lambda r=rows, w=width, m=dim, d=dtype: torch.ones(r, w, device="cuda", dtype=d).sum(m),
                )
            yield (
                f"layer_norm {rows} {width} {dtype}",
                _with(
                    lambda r=rows, w=width, d=dtype: F.layer_norm(
                        _leaf(r, w, dtype=d), (w,), _leaf(w, dtype=d), _leaf(w, dtype=d)
                    )
                ),
            )
            yield (
                f"rms_norm {rows} {width} {dtype}",
                _with(
                    lambda r=rows, w=width, d=dtype: F.rms_norm(_leaf(r, w, dtype=d), (w,), _leaf(w, dtype=d))
                ),
            )
            yield (
                f"softmax {rows} {width} {dtype}",
                _with(lambda r=rows, w=width, d=dtype: F.softmax(_leaf(r, w, dtype=d), -1)),
            )
            yield (
                f"cross_entropy {rows} {width} {dtype}",
                _with(
                    lambda r=rows, w=width, d=dtype: F.cross_entropy(
                        _leaf(r, w, dtype=d), torch.randint(0, w, (r,), device="cuda")
                    )
                ),
            )
            yield (
                f"mean all {rows} {width} {dtype}",
                lambda r=rows, w=width, d=dtype: torch.ones(r, w, device="cuda", dtype=d).mean(),
            )
            yield (
                f"sum all {rows} {width} {dtype}",
                lambda r=rows, w=width, d=dtype: torch.ones(r, w, device="cuda", dtype=d).sum(),
            )
            yield (
                f"dropout {rows} {width} {dtype}",
                _with(lambda r=rows, w=width, d=dtype: F.dropout(_leaf(r, w, dtype=d), 0.1)),
            )
            yield (
                f"gelu {rows} {width} {dtype}",
                _with(lambda r=rows, w=width, d=dtype: F.gelu(_leaf(r, w, dtype=d))),
            )
            yield (
                f"cumsum {rows} {width} {dtype}",
                lambda r=rows, w=width, d=dtype: torch.ones(r, w, device="cuda", dtype=d).cumsum(-1),
            )
            yield (
                f"topk {rows} {width} {dtype}",
                lambda r=rows, w=width, d=dtype: torch.randn(r, w, device="cuda", dtype=d).topk(2, -1),
            )
            yield (
                f"norm {rows} {width} {dtype}",
                lambda r=rows, w=width, d=dtype: torch.linalg.vector_norm(
                    torch.ones(r, w, device="cuda", dtype=d)
                ),
            )
            yield (
                f"argmax {rows} {width} {dtype}",
                lambda r=rows, w=width, d=dtype: torch.ones(r, w, device="cuda", dtype=d).argmax(-1),
            )
    for count in (512, 4096, 16384, 65536, 1 << 20):
        yield f"argsort {count}", lambda n=count: torch.randint(0, 8, (n,), device="cuda").argsort()
        yield f"sort {count}", lambda n=count: torch.randn(n, device="cuda").sort()
        yield f"sort rows {count}", lambda n=count: torch.randn(n // 64, 64, device="cuda").sort(-1)
        yield f"nonzero {count}", lambda n=count: (torch.rand(n, device="cuda") > 0.5).nonzero()
        yield f"where {count}", lambda n=count: torch.where(torch.rand(n, 2, device="cuda") > 0.5)
        yield f"unique {count}", lambda n=count: torch.randint(0, 99, (n,), device="cuda").unique()
        yield (
            f"bincount {count}",
            lambda n=count: torch.bincount(torch.randint(0, 8, (n,), device="cuda"), minlength=8),
        )
        yield (
            f"histc {count}",
            lambda n=count: torch.histc(torch.rand(n, device="cuda"), bins=8, min=0, max=1),
        )
        yield f"randperm {count}", lambda n=count: torch.randperm(n, device="cuda")
        yield (
            f"masked_select {count}",
            lambda n=count: torch.ones(n, device="cuda")[torch.rand(n, device="cuda") > 0.5],
        )
        yield (
            f"index_put {count}",
            lambda n=count: torch.zeros(n, 64, device="cuda").index_put_(
                (torch.randint(0, n, (n,), device="cuda"),), torch.ones(n, 64, device="cuda"), accumulate=True
            ),
        )
        yield f"index {count}", _with(lambda n=count: _leaf(n, 64)[torch.randint(0, n, (n,), device="cuda")])
        yield (
            f"index_add {count}",
            lambda n=count: torch.zeros(n, 64, device="cuda").index_add_(
                0, torch.randint(0, n, (n,), device="cuda"), torch.ones(n, 64, device="cuda")
            ),
        )
        yield (
            f"scatter_add {count}",
            lambda n=count: torch.zeros(n, 8, device="cuda").scatter_add_(
                0, torch.randint(0, n, (n, 8), device="cuda"), torch.ones(n, 8, device="cuda")
            ),
        )
        yield (
            f"gather {count}",
            _with(lambda n=count: _leaf(n, 64).gather(1, torch.randint(0, 64, (n, 8), device="cuda"))),
        )
    for samples, channels, pixels in ((64, 64, 112), (128, 256, 56), (32, 2048, 7), (256, 32, 112)):
        for dtype, last in ((FP32, False), (BF16, False), (BF16, True), (FP16, True)):

            def picture(
                s: int = samples, c: int = channels, p: int = pixels, d: torch.dtype = dtype, l: bool = last
            ) -> torch.Tensor:
                x = torch.randn(s, c, p, p, device="cuda", dtype=d)
                return (x.to(memory_format=torch.channels_last) if l else x).requires_grad_()

            yield (
                f"batch_norm {(samples, channels, pixels)} {dtype} {last}",
                _with(
                    lambda picture=picture, c=channels: F.batch_norm(
                        picture(),
                        torch.zeros(c, device="cuda"),
                        torch.ones(c, device="cuda"),
                        _leaf(c),
                        _leaf(c),
                        training=True,
                    )
                ),
            )
            yield (
                f"group_norm {(samples, channels, pixels)} {dtype} {last}",
                _with(
                    lambda picture=picture, c=channels, d=dtype: F.group_norm(
                        picture(), 32, _leaf(c, dtype=d), _leaf(c, dtype=d)
                    )
                ),
            )
            yield (
                f"max_pool {(samples, channels, pixels)} {dtype} {last}",
                _with(lambda picture=picture: F.max_pool2d(picture(), 3, 2, 1)),
            )
            yield (
                f"adaptive_avg_pool {(samples, channels, pixels)} {dtype} {last}",
                _with(lambda picture=picture: F.adaptive_avg_pool2d(picture(), 1)),
            )
            yield (
                f"mean pixels {(samples, channels, pixels)} {dtype} {last}",
                _with(lambda picture=picture: picture().mean((2, 3))),
            )
            yield (
                f"interpolate {(samples, channels, pixels)} {dtype} {last}",
                _with(lambda picture=picture: F.interpolate(picture(), scale_factor=2.0, mode="bilinear")),
            )
    for count, width in ((100, 1000_000), (300, 300_000), (30, 3_000_000)):
        for dtype in (FP32, BF16):
            tensors = [torch.ones(width, device="cuda", dtype=dtype) for _ in range(count)]
            yield f"foreach_norm {count} {width} {dtype}", lambda t=tensors: torch._foreach_norm(t)
            yield (
                f"clip {count} {width} {dtype}",
                lambda t=tensors: nn.utils.clip_grad_norm_([_graded(x) for x in t], 1.0),
            )
    for samples, length in ((16, 128), (64, 256)):
        for kind in (nn.LSTM, nn.GRU):
            net = kind(512, 512, num_layers=2, batch_first=True).to("cuda")
            yield (
                f"{kind.__name__} {samples} {length}",
                _with(lambda net=net, s=samples, n=length: net(torch.randn(s, n, 512, device="cuda"))[0]),
            )
    for tokens, width, hidden, experts in ((8192, 1024, 2816, 8), (4096, 1024, 1024, 32)):

        def grouped(n: int = tokens, d: int = width, f: int = hidden, e: int = experts) -> torch.Tensor:
            ends = torch.arange(1, e + 1, device="cuda", dtype=torch.int32) * (n // e)
            return torch._grouped_mm(_leaf(n, d, dtype=BF16), _leaf(e, d, f, dtype=BF16), offs=ends)

        yield f"grouped_mm {tokens} {width} {hidden} {experts}", _with(grouped)
    for rows, inside, outside in ((8192, 768, 3072), (8192, 2048, 32000), (16384, 4096, 4096)):
        for dtype in (FP32, BF16, FP16):
            yield (
                f"linear bias {rows} {inside} {outside} {dtype}",
                _with(
                    lambda r=rows, i=inside, o=outside, d=dtype: F.linear(
                        _leaf(r, i, dtype=d), _leaf(o, i, dtype=d), _leaf(o, dtype=d)
                    )
                ),
            )


def _graded(x: torch.Tensor) -> torch.Tensor:
    x.grad = x
    return x


def _leaf(*shape: int, dtype: torch.dtype = FP32) -> torch.Tensor:
    return torch.randn(*shape, device="cuda", dtype=dtype).requires_grad_()


def _with(forward: Callable[[], torch.Tensor]) -> Callable[[], Any]:
    """Forward and backward."""

    def run() -> None:
        answer = forward()
        answer.backward(torch.ones_like(answer))

    return run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--limit", type=float, default=150)
    options = parser.parse_args()
    started = time.monotonic()
    kinds = {"attention": attention, "others": others, "convolutions": lambda: iter(convolutions())}
    shares = {"attention": 0.15, "others": 0.5, "convolutions": 1.0}
    failures: list[list[str]] = []
    count = 0
    signal.signal(signal.SIGALRM, _give_up)
    with gzip.open(options.out / "operations.jsonl.gz", "wt") as stream:
        for kind, cases in kinds.items():
            for label, run in cases():
                if time.monotonic() - started > options.limit * shares[kind]:
                    print("out of time at", label, flush=True)
                    break
                signal.alarm(8)
                try:
                    stream.write(json.dumps([label, observed(run)], separators=(",", ":")) + "\n")
                    count += 1
                except Exception as failure:
                    failures.append([label, f"{type(failure).__name__}: {failure}"[:300]])
                    torch.cuda.memory._record_memory_history(enabled=None)
                    torch.cuda.empty_cache()
                signal.alarm(0)
            stream.flush()
            print(kind, count, f"{time.monotonic() - started:.0f} s", flush=True)
    print(f"{len(failures)} failed", failures[:8])


def _give_up(number: int, frame: Any) -> None:
    raise TimeoutError("took longer than 8 s")


if __name__ == "__main__":
    main()
