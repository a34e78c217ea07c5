"""What convolutions outside image classifiers take inside: pointwise on large images, dilated, transposed, long, deep.

Run on a machine with a GPU:  python -m accuracy.measuring.odd_convolutions --out FOLDER [--limit SECONDS]

Beside `accuracy.measuring.operations`, whose convolutions are torchvision's. Same form of result.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import time
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import torch
from torch.nn import functional as F

from accuracy.measuring.operations import observed

Shape = tuple[int, ...]
TYPES = (torch.float32, torch.bfloat16, torch.float16)
FUNCTIONS: dict[str, Callable[..., torch.Tensor]] = {
    "conv1d": F.conv1d, "conv2d": F.conv2d, "conv3d": F.conv3d, "conv_transpose2d": F.conv_transpose2d,
}  # fmt: skip


Asked = tuple[str, Shape, Shape, dict[str, Any]]
"""Function, image, weight, options."""


def shapes() -> Iterator[Asked]:
    """All of them."""
    yield from pointwise()
    yield from dilated()
    yield from strided()
    yield from long_and_deep()
    yield from of_colours()


def pointwise() -> Iterator[Asked]:
    channels = ((32, 32), (64, 64), (64, 1), (3, 64), (128, 64), (128, 128), (256, 256), (256, 19))
    for side, (inside, outside), count in product((28, 56, 64, 96, 128, 200, 256), channels, (2, 8, 16, 64)):
        if count * max(inside, outside) * side * side <= 2**27:
            yield "conv2d", (count, inside, side, side), (outside, inside, 1, 1), {}


def dilated() -> Iterator[Asked]:
    channels = ((256, 256), (512, 512), (2048, 256))
    for side, (inside, outside), dilation, count in product(
        (32, 33, 48, 65), channels, (2, 4, 12, 24, 36), (4, 8, 16)
    ):
        options = {"padding": dilation, "dilation": dilation}
        yield "conv2d", (count, inside, side, side), (outside, inside, 3, 3), options


def strided() -> Iterator[Asked]:
    """Halving the image, and doubling it."""
    channels = ((64, 128), (128, 256), (256, 512), (512, 256), (256, 128), (128, 64), (64, 3))
    for side, (inside, outside), count in product((4, 8, 16, 32, 64), channels, (16, 64, 128)):
        options = {"stride": 2, "padding": 1}
        yield "conv_transpose2d", (count, inside, side, side), (inside, outside, 4, 4), options
        yield "conv2d", (count, inside, 2 * side, 2 * side), (outside, inside, 4, 4), options


def long_and_deep() -> Iterator[Asked]:
    """Of one dimension and of three."""
    kernels = ((3, 1), (3, 2), (3, 8), (3, 64), (10, 1), (2, 1))
    for length, channels, (kernel, dilation) in product((1000, 4096, 16000), (64, 128, 256, 512), kernels):
        options = {"padding": dilation, "dilation": dilation}
        yield "conv1d", (8, channels, length), (channels, channels, kernel), options
    for (side, deep), channels, sides in product(
        ((56, 16), (28, 8), (14, 4)), (64, 128, 256), ((3, 3, 3), (1, 3, 3), (3, 1, 1))
    ):
        around = {"padding": tuple(each // 2 for each in sides)}
        yield "conv3d", (8, channels, deep, side, side), (channels, channels, *sides), around


def of_colours() -> Iterator[Asked]:
    """First layers."""
    channels = ((3, 64), (4, 32), (32, 64), (64, 64), (1, 32))
    for side, (inside, outside), count in product((64, 128, 224), channels, (8, 32)):
        yield "conv2d", (count, inside, side, side), (outside, inside, 3, 3), {"padding": 1}


def runner(
    name: str, image: Shape, weight: Shape, options: dict[str, Any], dtype: torch.dtype
) -> Callable[[], None]:
    def run() -> None:
        x = torch.randn(image, device="cuda", dtype=dtype, requires_grad=True)
        w = torch.randn(weight, device="cuda", dtype=dtype, requires_grad=True)
        y = FUNCTIONS[name](x, w, None, **options)
        y.backward(torch.ones_like(y))

    return run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--limit", type=float, default=60)
    options = parser.parse_args()
    chance = random.Random(1)
    every = [(*shape, dtype) for shape in shapes() for dtype in TYPES]
    chance.shuffle(every)
    started, count = time.monotonic(), 0
    with gzip.open(options.out / "odd_convolutions.jsonl.gz", "wt") as stream:
        for name, image, weight, settings, dtype in every:
            if time.monotonic() - started > options.limit:
                break
            try:
                seen = observed(runner(name, image, weight, settings, dtype))
            except Exception as failure:
                print(name, image, weight, settings, dtype, f"{failure}"[:200], flush=True)
                torch.cuda.memory._record_memory_history(enabled=None)
                torch.cuda.empty_cache()
                continue
            label = f"{name} {image} {weight} {settings} {dtype}"
            stream.write(json.dumps([label, seen], separators=(",", ":")) + "\n")
            count += 1
            if count % 50 == 0:
                stream.flush()
    print(f"{count} of {len(every)} in {time.monotonic() - started:.0f} s", flush=True)


if __name__ == "__main__":
    main()
