"""Operations and traces made by hand, as a tracer would write them."""

from __future__ import annotations

from collections.abc import Sequence

from tonnage.cluster.gpus import GpuType, find_gpu
from tonnage.memory.trace import FORMAT, Call, Operation, TensorInfo, Trace


def gpu(name: str = "h200") -> GpuType:
    """A GPU type of our table."""
    found = find_gpu(name)
    assert found is not None
    return found


def tensor(
    *shape: int, dtype: str = "bfloat16", stride: Sequence[int] | None = None, device: str = "cuda"
) -> TensorInfo:
    """A tensor, contiguous unless said otherwise."""
    if stride is None:
        steps: list[int] = []
        step = 1
        for size in reversed(shape):
            steps.insert(0, step)
            step *= size
        stride = steps
    return TensorInfo(tuple(shape), tuple(stride), dtype, device)


def product(rows: int, depth: int, columns: int, dtype: str = "bfloat16") -> Operation:
    """A matrix product."""
    return Operation(
        "aten.mm.default",
        (tensor(rows, depth, dtype=dtype), tensor(depth, columns, dtype=dtype)),
        (tensor(rows, columns, dtype=dtype),),
    )


def addition(count: int, dtype: str = "bfloat16") -> Operation:
    """An elementwise sum."""
    one = tensor(count, dtype=dtype)
    return Operation("aten.add.Tensor", (one, one), (one,))


def attention(batch: int, heads: int, length: int, width: int, *, causal: bool = False) -> Operation:
    """cuDNN's fused attention."""
    one = tensor(batch, heads, length, width)
    statistics = tensor(batch, heads, length, dtype="float32")
    return Operation(
        "aten._scaled_dot_product_cudnn_attention.default",
        (one, one, one),
        (one, statistics),
        {"is_causal": causal},
    )


def convolution(batch: int, channels: int, side: int, kernel: int = 3, groups: int = 1) -> Operation:
    """A convolution that keeps the image's size."""
    image = tensor(batch, channels, side, side)
    weight = tensor(channels, channels // groups, kernel, kernel)
    return Operation(
        "aten.convolution.default",
        (image, weight),
        (image,),
        {"stride": [1, 1], "groups": groups, "transposed": False},
    )


def item() -> Operation:
    """The host asks for a value."""
    return Operation("aten._local_scalar_dense.default", (tensor(dtype="float32"),), ())


def step_of(
    *operations: Operation,
    times: int = 1,
    phase: str = "forward",
    world_size: int = 1,
    before: Sequence[Operation] = (),
) -> Trace:
    """A trace of two steps: `before` and the operations in the first, only the operations in the second."""
    phases = ("build", "forward", "backward", "optimizer", "other")
    every = (*before, *operations)
    order = [*range(len(every)), *([*range(len(before), len(every))] * times)]
    calls = tuple(Call(number, phases.index(phase), 0) for number in order)
    kinds, arguments = "m", [0]
    for number in range(len(calls)):
        if number == len(every):
            kinds, arguments = kinds + "m", [*arguments, 1]
        kinds, arguments = kinds + "ce", [*arguments, number, number]
    return Trace(
        format=FORMAT,
        torch="2.11.0",
        cuda="13.0",
        python="3.12",
        gpu="h200",
        steps=2,
        phases=phases,
        categories=(),
        modules=("",),
        operations=every,
        calls=calls,
        blocks=(),
        marks=("step 0", "step 1"),
        kinds=kinds,
        arguments=tuple(arguments),
        world_size=world_size,
    )
