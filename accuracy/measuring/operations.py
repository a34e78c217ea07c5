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
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torchvision
from torch import nn
from torch.nn import functional as F

from accuracy.measuring.histories import Annotating, block_counts, made_and_freed

Case = tuple[str, Callable[[], Any]]
BF16, FP16, FP32 = torch.bfloat16, torch.float16, torch.float32

VISION = (
    "resnet18", "resnet34", "resnet50", "resnet101", "wide_resnet50_2", "resnext50_32x4d",
    "convnext_tiny", "convnext_base",
    "efficientnet_b0", "efficientnet_b3", "efficientnet_b5", "efficientnet_v2_s", "efficientnet_v2_m",
    "mobilenet_v2", "mobilenet_v3_large", "regnet_y_400mf", "regnet_y_8gf", "regnet_x_3_2gf",
    "densenet121", "densenet169",
    "vgg11", "vgg16_bn", "alexnet", "googlenet", "inception_v3", "shufflenet_v2_x1_0", "squeezenet1_1", "mnasnet1_0",
    "vit_b_16", "vit_b_32", "vit_l_16", "swin_t", "swin_b", "maxvit_t",
)  # fmt: skip


def observed(run: Callable[[], Any]) -> list[Any]:
    """Every operation of one warm run with what it allocates inside (negative: freed before its end)."""
    run()
    torch.cuda.memory._record_memory_history(max_entries=100_000, context=None)
    made_before, freed_before = block_counts()
    mode = Annotating()
    with mode:
        run()
    sizes, frees = made_and_freed()
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

        def note(module: nn.Conv2d, inputs: Any, _: Any) -> None:
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
    yield from embeddings()
    yield from matrices()
    yield from lists()
    yield from pictures()
    yield from recurrent()


def embeddings() -> Iterator[Case]:
    sizes = (
        (8192, 768, 50257), (8192, 2048, 32000), (512, 768, 30522), (16384, 896, 151936), (3000, 1024, 32128),
        (2048, 768, 512), (4096, 128, 1000),
    )  # fmt: skip
    for rows, width, words in sizes:
        for dtype in (FP32, BF16):

            def look_up(
                n: int = rows, d: int = width, v: int = words, t: torch.dtype = dtype
            ) -> torch.Tensor:
                return F.embedding(torch.randint(0, v, (n,), device="cuda"), _leaf(v, d, dtype=t))

            yield f"embedding {rows} {width} {words} {dtype}", both(look_up)


def matrices() -> Iterator[Case]:
    """Row-wise and whole reductions, norms, softmax and losses of matrices."""
    sizes = (
        (16384, 3072), (8192, 768), (4096, 1024), (12608, 3072), (12608, 768), (65536, 1024), (1000, 5000),
        (64, 1000), (32768, 8192),
    )  # fmt: skip
    plain: dict[str, Callable[[torch.Tensor], Any]] = {
        "sum 0": lambda x: x.sum(0), "sum 1": lambda x: x.sum(1), "sum": torch.sum, "mean": torch.mean,
        "cumsum": lambda x: x.cumsum(-1), "topk": lambda x: x.topk(2, -1), "argmax": lambda x: x.argmax(-1),
        "norm": torch.linalg.vector_norm,
    }  # fmt: skip
    differentiated: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
        "layer_norm": lambda x: F.layer_norm(
            x, x.shape[1:], _leaf(x.shape[1], dtype=x.dtype), _leaf(x.shape[1], dtype=x.dtype)
        ),
        "rms_norm": lambda x: F.rms_norm(x, x.shape[1:], _leaf(x.shape[1], dtype=x.dtype)),
        "softmax": lambda x: F.softmax(x, -1),
        "cross_entropy": lambda x: F.cross_entropy(
            x, torch.randint(0, x.shape[1], x.shape[:1], device="cuda")
        ),
        "dropout": lambda x: F.dropout(x, 0.1),
        "gelu": F.gelu,
    }
    for rows, width in sizes:
        for dtype in (FP32, BF16):
            for name, function in plain.items():
                yield f"{name} {rows} {width} {dtype}", partial(_plain, function, rows, width, dtype)
            for name, forward in differentiated.items():
                yield f"{name} {rows} {width} {dtype}", both(partial(_on_leaf, forward, rows, width, dtype))
    for rows, inside, outside in ((8192, 768, 3072), (8192, 2048, 32000), (16384, 4096, 4096)):
        for dtype in (FP32, BF16, FP16):

            def linear(
                n: int = rows, i: int = inside, o: int = outside, t: torch.dtype = dtype
            ) -> torch.Tensor:
                return F.linear(_leaf(n, i, dtype=t), _leaf(o, i, dtype=t), _leaf(o, dtype=t))

            yield f"linear bias {rows} {inside} {outside} {dtype}", both(linear)


def lists() -> Iterator[Case]:
    """Sorting, choosing, scattering; lists of tensors; grouped products."""
    functions: dict[str, Callable[[int], Any]] = {
        "argsort": lambda n: torch.randint(0, 8, (n,), device="cuda").argsort(),
        "sort": lambda n: torch.randn(n, device="cuda").sort(),
        "sort rows": lambda n: torch.randn(n // 64, 64, device="cuda").sort(-1),
        "nonzero": lambda n: (torch.rand(n, device="cuda") > 0.5).nonzero(),
        "where": lambda n: torch.where(torch.rand(n, 2, device="cuda") > 0.5),
        "unique": lambda n: torch.randint(0, 99, (n,), device="cuda").unique(),
        "bincount": lambda n: torch.bincount(torch.randint(0, 8, (n,), device="cuda"), minlength=8),
        "histc": lambda n: torch.histc(torch.rand(n, device="cuda"), bins=8, min=0, max=1),
        "randperm": lambda n: torch.randperm(n, device="cuda"),
        "masked_select": lambda n: torch.ones(n, device="cuda")[torch.rand(n, device="cuda") > 0.5],
        "index_put": lambda n: torch.zeros(n, 64, device="cuda").index_put_(
            (_places(n),), torch.ones(n, 64, device="cuda"), accumulate=True
        ),
        "index_add": lambda n: torch.zeros(n, 64, device="cuda").index_add_(
            0, _places(n), torch.ones(n, 64, device="cuda")
        ),
        "scatter_add": lambda n: torch.zeros(n, 8, device="cuda").scatter_add_(
            0, _places(n, 8), torch.ones(n, 8, device="cuda")
        ),
        "index": both_of(lambda n: _leaf(n, 64)[_places(n)]),
        "gather": both_of(lambda n: _leaf(n, 64).gather(1, torch.randint(0, 64, (n, 8), device="cuda"))),
    }
    for count in (512, 4096, 16384, 65536, 1 << 20):
        for name, function in functions.items():
            yield f"{name} {count}", partial(function, count)
    for count, width in ((100, 1_000_000), (300, 300_000), (30, 3_000_000)):
        for dtype in (FP32, BF16):
            tensors = [torch.ones(width, device="cuda", dtype=dtype) for _ in range(count)]
            yield f"foreach_norm {count} {width} {dtype}", partial(torch._foreach_norm, tensors)
    for tokens, width, hidden, experts in ((8192, 1024, 2816, 8), (4096, 1024, 1024, 32)):

        def grouped(n: int = tokens, d: int = width, f: int = hidden, e: int = experts) -> torch.Tensor:
            ends = torch.arange(1, e + 1, device="cuda", dtype=torch.int32) * (n // e)
            return torch._grouped_mm(_leaf(n, d, dtype=BF16), _leaf(e, d, f, dtype=BF16), offs=ends)

        yield f"grouped_mm {tokens} {width} {hidden} {experts}", both(grouped)


def pictures() -> Iterator[Case]:
    """Norms, pooling and scaling of images."""
    functions: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
        "batch_norm": _batch_norm,
        "group_norm": lambda x: F.group_norm(
            x, 32, _leaf(x.shape[1], dtype=x.dtype), _leaf(x.shape[1], dtype=x.dtype)
        ),
        "max_pool": lambda x: F.max_pool2d(x, 3, 2, 1),
        "adaptive_avg_pool": lambda x: F.adaptive_avg_pool2d(x, 1),
        "mean pixels": lambda x: x.mean((2, 3)),
        "interpolate": lambda x: F.interpolate(x, scale_factor=2.0, mode="bilinear"),
    }
    for samples, channels, pixels in ((64, 64, 112), (128, 256, 56), (32, 2048, 7), (256, 32, 112)):
        for dtype, last in ((FP32, False), (BF16, False), (BF16, True), (FP16, True)):
            for name, function in functions.items():
                label = f"{name} {(samples, channels, pixels)} {dtype} {last}"
                yield label, both(partial(_on_picture, function, (samples, channels, pixels), dtype, last))


def recurrent() -> Iterator[Case]:
    for samples, length in ((16, 128), (64, 256)):
        for kind in (nn.LSTM, nn.GRU):
            net = kind(512, 512, num_layers=2, batch_first=True).to("cuda")

            def unroll(net: nn.Module = net, s: int = samples, n: int = length) -> torch.Tensor:
                answer: torch.Tensor = net(torch.randn(s, n, 512, device="cuda"))[0]
                return answer

            yield f"{kind.__name__} {samples} {length}", both(unroll)


def _plain(function: Callable[[torch.Tensor], Any], rows: int, width: int, dtype: torch.dtype) -> Any:
    return function(torch.ones(rows, width, device="cuda", dtype=dtype))


def _on_leaf(
    forward: Callable[[torch.Tensor], torch.Tensor], rows: int, width: int, dtype: torch.dtype
) -> torch.Tensor:
    return forward(_leaf(rows, width, dtype=dtype))


def _on_picture(
    forward: Callable[[torch.Tensor], torch.Tensor],
    shape: tuple[int, int, int],
    dtype: torch.dtype,
    last: bool,
) -> torch.Tensor:
    samples, channels, pixels = shape
    x = torch.randn(samples, channels, pixels, pixels, device="cuda", dtype=dtype)
    return forward((x.to(memory_format=torch.channels_last) if last else x).requires_grad_())


def _batch_norm(x: torch.Tensor) -> torch.Tensor:
    channels = x.shape[1]
    mean, variance = torch.zeros(channels, device="cuda"), torch.ones(channels, device="cuda")
    return F.batch_norm(x, mean, variance, _leaf(channels), _leaf(channels), training=True)


def _places(count: int, width: int | None = None) -> torch.Tensor:
    return torch.randint(0, count, (count,) if width is None else (count, width), device="cuda")


def _leaf(*shape: int, dtype: torch.dtype = FP32) -> torch.Tensor:
    return torch.randn(*shape, device="cuda", dtype=dtype).requires_grad_()


def both(forward: Callable[[], torch.Tensor]) -> Callable[[], None]:
    """Forward and backward."""

    def run() -> None:
        answer = forward()
        answer.backward(torch.ones_like(answer))

    return run


def both_of(forward: Callable[[int], torch.Tensor]) -> Callable[[int], None]:
    """Forward and backward of a function of a size."""
    return lambda count: both(partial(forward, count))()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--limit", type=float, default=150)
    options = parser.parse_args()
    started = time.monotonic()
    kinds: dict[str, Callable[[], Iterator[Case]]] = {
        "attention": attention,
        "others": others,
        "convolutions": lambda: iter(convolutions()),
    }
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


def _give_up(*_: Any) -> None:
    raise TimeoutError("took longer than 8 s")


if __name__ == "__main__":
    main()
