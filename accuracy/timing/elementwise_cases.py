"""Work that moves bytes: element by element, casts, copies of strided views, broadcasts, sums, gathers.

Each is timed over sizes from a kilobyte to a gigabyte, because small ones cost latency and large ones
bandwidth; those of a middle size also with inputs that the L2 cache cannot hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import torch

from accuracy.timing.cases import Case, tensor

aten = torch.ops.aten
BF16, FP16, FP32 = torch.bfloat16, torch.float16, torch.float32

SIZES = [2**8, 2**12, 2**15, 2**17, 2**19, 2**20, 2**21, 2**22, 2**23, 2**24, 2**26, 2**28]
MIDDLE = {2**20, 2**22, 2**23, 2**24}


def elementwise_cases(device: str) -> Iterator[Case]:
    """About 900 operations."""
    for size in SIZES:
        for dtype in (BF16, FP32):
            for op, build, keywords in _per_element(size, dtype, device):
                yield Case("elementwise", op, build, keywords)
                if size in MIDDLE:
                    yield Case("elementwise", op, build, keywords, cold=True)
    yield from _strided(device)
    yield from _sums(device)
    yield from _gathers(device)


Row = tuple[Any, Callable[..., Any], dict[str, Any]]


def _per_element(size: int, dtype: torch.dtype, device: str) -> list[Row]:
    make = partial(tensor, dtype=dtype, device=device)
    width = min(size, 1024)
    rows = size // width
    other = BF16 if dtype is FP32 else FP32

    def one() -> tuple[Any, ...]:
        return (make((rows, width)),)

    def two() -> tuple[Any, ...]:
        return make((rows, width)), make((rows, width))

    def along_rows() -> tuple[Any, ...]:
        return make((rows, width)), make((width,))

    def along_columns() -> tuple[Any, ...]:
        return make((rows, width)), make((rows, 1))

    def masked() -> tuple[Any, ...]:
        return make((rows, width)), tensor((rows, width), torch.bool, device), 0.0

    def chosen() -> tuple[Any, ...]:
        return tensor((rows, width), torch.bool, device), make((rows, width)), make((rows, width))

    def mixed() -> tuple[Any, ...]:
        return make((rows, width)), tensor((rows, width), other, device)

    return [
        (aten.add.Tensor, two, {}),
        (aten.mul.Tensor, two, {}),
        (aten.add.Tensor, along_rows, {}),
        (aten.mul.Tensor, along_columns, {}),
        (aten.mul.Tensor, mixed, {}),
        (aten.add_.Tensor, two, {}),
        (aten._to_copy.default, one, {"dtype": other}),
        (aten.clone.default, one, {}),
        (aten.silu.default, one, {}),
        (aten.silu_backward.default, two, {}),
        (aten.gelu.default, one, {}),
        (aten.gelu_backward.default, two, {}),
        (aten.threshold_backward.default, lambda: (*two(), 0), {}),
        (aten.pow.Tensor_Scalar, lambda: (*one(), 2), {}),
        (aten.tanh.default, one, {}),
        (aten.native_dropout.default, lambda: (*one(), 0.1, True), {}),
        (aten.masked_fill.Scalar, masked, {}),
        (aten.where.self, chosen, {}),
        (aten.fill_.Scalar, lambda: (*one(), 0.0), {}),
        (aten.sum.default, one, {}),
    ]


def _strided(device: str) -> Iterator[Case]:
    """Copies of transposed views, joins, halves of rotary embeddings, padding."""
    shapes = [(2, 8, 128, 64), (8, 12, 512, 64), (16, 12, 1024, 64), (4, 32, 2048, 64), (64, 12, 197, 64)]
    for (b, h, s, d), dtype in ((shape, kind) for shape in shapes for kind in (BF16, FP32)):
        make = partial(tensor, dtype=dtype, device=device)

        def heads(make: Any = make, b: int = b, h: int = h, s: int = s, d: int = d) -> torch.Tensor:
            return make((b, s, h, d)).transpose(1, 2)

        contiguous = {"memory_format": torch.contiguous_format}
        yield Case("strided", aten.clone.default, lambda f=heads: (f(),), contiguous)
        yield Case("strided", aten.add.Tensor, lambda f=heads: (f(), f()))
        yield Case("strided", aten._to_copy.default, lambda f=heads: (f(),), {"dtype": FP32})
        yield Case("strided", aten.neg.default, lambda f=heads, d=d: (f()[..., d // 2 :],))
        yield Case(
            "strided",
            aten.cat.default,
            lambda f=heads, d=d: ([f()[..., d // 2 :], f()[..., : d // 2]], -1),
        )
        yield Case("strided", aten.mul.Tensor, lambda f=heads, make=make, s=s, d=d: (f(), make((1, 1, s, d))))
        yield Case("strided", aten.cat.default, lambda make=make, n=b * s, w=h * d: ([make((n, w))] * 2, 0))
    for shape in [(64, 64, 56, 56), (128, 256, 28, 28), (32, 512, 14, 14)]:
        for dtype in (BF16, FP32):

            def image(shape: Sequence[int] = shape, dtype: torch.dtype = dtype) -> torch.Tensor:
                return tensor(shape, dtype, device)

            last = {"memory_format": torch.channels_last}
            yield Case("strided", aten.clone.default, lambda f=image: (f(),), last)
            yield Case("strided", aten.add.Tensor, lambda f=image: (f(), f()))
            yield Case(
                "strided",
                aten.mul.Tensor,
                lambda f=image, shape=shape: (f(), tensor((shape[0], shape[1], 1, 1), FP32, device)),
            )
            yield Case("strided", aten.roll.default, lambda f=image: (f(), [3, 3], [2, 3]))
            yield Case("strided", aten.constant_pad_nd.default, lambda f=image: (f(), [1, 1, 1, 1]))


def _sums(device: str) -> Iterator[Case]:
    """Sums over rows (gradients of biases), over columns, over images, and norms."""
    for rows, width in [
        (64, 1024),
        (1024, 768),
        (8192, 768),
        (16384, 3072),
        (32768, 1024),
        (12608, 3072),
        (512, 50304),
    ]:
        for dtype in (BF16, FP32):
            make = partial(tensor, (rows, width), dtype, device)
            yield Case("sums", aten.sum.dim_IntList, lambda make=make: (make(), [0], True))
            yield Case("sums", aten.sum.dim_IntList, lambda make=make: (make(), [1], True))
            yield Case("sums", aten.mean.dim, lambda make=make: (make(), [-1], True))
            yield Case("sums", aten.amax.default, lambda make=make: (make(), [-1]))
            yield Case("sums", aten.linalg_vector_norm.default, lambda make=make: (make(),))
            yield Case("sums", aten.cumsum.default, lambda make=make: (make(), 0))
    for shape in [(64, 256, 56, 56), (128, 512, 28, 28), (256, 2048, 7, 7)]:
        for dtype in (BF16, FP32):
            make = partial(tensor, shape, dtype, device)
            yield Case("sums", aten.mean.dim, lambda make=make: (make(), [-1, -2], True))
            yield Case("sums", aten.sum.dim_IntList, lambda make=make: (make(), [0, 2, 3]))


def _gathers(device: str) -> Iterator[Case]:
    """Look-ups by index and their gradients, sorting, random numbers."""

    def index(count: int, below: int) -> torch.Tensor:
        return torch.randint(0, below, (count,), device=device)

    for tokens, words, width in [
        (512, 30522, 768),
        (4096, 32000, 2048),
        (8192, 50304, 768),
        (16384, 151936, 896),
        (32768, 50257, 1024),
        (65536, 32000, 512),
    ]:
        for dtype in (BF16, FP32):
            table = partial(tensor, (words, width), dtype, device)
            rows = partial(tensor, (tokens, width), dtype, device)
            n, v = tokens, words
            yield Case("gathers", aten.embedding.default, lambda t=table, n=n, v=v: (t(), index(n, v)))
            yield Case(
                "gathers",
                aten.embedding_dense_backward.default,
                lambda r=rows, n=n, v=v: (r(), index(n, v), v, -1, False),
                kernels=20,
            )
            yield Case("gathers", aten.index.Tensor, lambda r=rows, n=n: (r(), [index(n, n)]))
            yield Case(
                "gathers", aten.index_add.default, lambda r=rows, n=n: (r(), 0, index(n, n), r()), kernels=8
            )
            yield Case(
                "gathers",
                aten.index_put.default,
                lambda r=rows, n=n: (r(), [index(n, n)], r(), True),
                kernels=20,
            )
            yield Case("gathers", aten.index_select.default, lambda r=rows, n=n: (r(), 0, index(n, n)))
    for count in (1024, 2**14, 2**17, 2**20):
        yield Case("gathers", aten.sort.default, lambda n=count: (index(n, 64),), kernels=20)
        yield Case(
            "gathers", aten.topk.default, lambda n=count: (tensor((n, 8), FP32, device), 2), kernels=20
        )
        yield Case(
            "gathers", aten.topk.default, lambda n=count: (tensor((n, 64), FP32, device), 8), kernels=20
        )
        yield Case("gathers", aten.randint.low, lambda n=count: (0, 100, [n]), {"device": device})
        yield Case("gathers", aten.randn.default, lambda n=count: ([n * 16],), {"device": device})
        yield Case("gathers", aten.arange.default, lambda n=count: (n,), {"device": device})
        yield Case("gathers", aten.bincount.default, lambda n=count: (index(n, 8),), kernels=20)
