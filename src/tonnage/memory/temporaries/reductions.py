"""Reductions (sums, means, norms, extrema): partial results in global memory when one block per output is too few.

A bias gradient, the sum of a tall matrix over its rows, is such a reduction: 132 MiB for 16,384 x 3,072 on an H200.
How many blocks share an output follows from `setReduceConfig` of `aten/src/ATen/native/cuda/Reduce.cuh` (torch 2.11),
restated here; the figure above is what it gives and what was measured.
"""

from __future__ import annotations

from math import prod

from tonnage.memory.device import Device
from tonnage.memory.temporaries.rule import NONE, Rule, Temporaries, Temporary
from tonnage.memory.trace import Operation, TensorInfo

MOST_THREADS = 512
WARP = 32
VECTOR = 4
LEAST_VALUES, MOST_VALUES = 16, 256
"""Values one thread adds up before, and at most before, the work is shared among blocks."""


def reduction(operation: Operation, device: Device) -> Temporaries:
    """Partial results in the accumulation type, and one counter per column of blocks, after the output."""
    source = operation.inputs[0]
    return shared_partials(source, _reduced(operation, source), 8 if source.dtype == "float64" else 4, device)


def extremum(operation: Operation, device: Device) -> Temporaries:
    """The same, where value and index are kept together: 16 bytes each."""
    source = operation.inputs[0]
    return shared_partials(source, _reduced(operation, source), 16, device)


def deviation(operation: Operation, device: Device) -> Temporaries:
    """Variance: mean, second moment and counts, 16 bytes."""
    source = operation.inputs[0]
    return shared_partials(source, _reduced(operation, source), 16, device)


def _reduced(operation: Operation, source: TensorInfo) -> frozenset[int]:
    """The dimensions that are reduced; all of them where none is named."""
    named = operation.scalars.get("dim")
    dims = named if isinstance(named, list | tuple) else [] if named is None else [named]
    count = max(1, len(source.shape))
    chosen = frozenset(int(dim) % count for dim in dims if isinstance(dim, int))
    return chosen or frozenset(range(len(source.shape)))


def shared_partials(source: TensorInfo, reduced: frozenset[int], kept: int, device: Device) -> Temporaries:
    """Blocks of partial results for a reduction of `source`, `kept` bytes per partial result."""
    if prod(source.shape) == 0 or source.device != "cuda":
        return NONE
    inner, outer = _coalesced(source, reduced)
    inputs, outputs = prod(size for size, _ in inner), prod(size for size, _ in outer)
    if not inner:
        return NONE
    along_rows = not outer or inner[0][1] < outer[0][1]
    vector = 1
    width, height = (inputs, outputs) if along_rows else (outputs, inputs)
    if along_rows and inner[0][1] == 1 and inputs > 128 and not outer and len(inner) == 1:
        width //= VECTOR
    elif not along_rows and outer[0][1] == 1:
        vector = _output_vector(inner, outer)
        width //= vector
    block_width, block_height = _block(width, height, MOST_THREADS // vector)
    step_input = block_width if along_rows else 1
    step_output = 1 if along_rows else block_width
    values = -(-inputs // step_input)
    if values < block_height * LEAST_VALUES and values < MOST_VALUES:
        return NONE
    step_input *= block_height
    values = -(-inputs // step_input)
    grid = -(-(outputs // vector) // step_output)
    per_multiprocessor = device.threads_per_multiprocessor // (block_width * block_height)
    target = device.multiprocessors * per_multiprocessor
    if values < MOST_VALUES or grid > target:
        return NONE
    sharing = max(min(-(-target // grid), -(-values // LEAST_VALUES)), -(-values // MOST_VALUES))
    if sharing <= 1:
        return NONE
    partial = kept * outputs * sharing * (1 if along_rows else block_width * vector)
    return (Temporary(partial), Temporary(4 * grid))


def _coalesced(
    source: TensorInfo, reduced: frozenset[int]
) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Reduced and kept dimensions as (size, stride), fastest first, those that lie side by side made one."""
    dims = [
        (size, stride, dim in reduced)
        for dim, (size, stride) in enumerate(zip(source.shape, source.stride, strict=True))
        if size > 1
    ]
    inner = _merged(sorted(((s, t) for s, t, is_reduced in dims if is_reduced), key=lambda d: (d[1], d[0])))
    outer = _merged(
        sorted(((s, t) for s, t, is_reduced in dims if not is_reduced), key=lambda d: (d[1], d[0]))
    )
    return inner, outer


def _merged(dims: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for size, stride in dims:
        if merged and merged[-1][0] * merged[-1][1] == stride:
            merged[-1] = (merged[-1][0] * size, merged[-1][1])
        else:
            merged.append((size, stride))
    return merged


def _output_vector(inner: list[tuple[int, int]], outer: list[tuple[int, int]]) -> int:
    """How many neighbouring outputs one thread makes: 4, 2 or 1, as sizes and strides divide."""
    vector = VECTOR
    for number in (outer[0][0], *(stride for _, stride in inner), *(stride for _, stride in outer[1:])):
        while number % vector:
            vector //= 2
    return vector


def _block(width: int, height: int, most: int) -> tuple[int, int]:
    """Threads of a block in both directions."""
    width, height = (_power_below(min(size, most)) for size in (width, height))
    block_width = min(width, WARP)
    block_height = min(height, most // block_width)
    return min(width, most // block_height), block_height


def _power_below(number: int) -> int:
    return 1 << (max(1, number).bit_length() - 1)


RULES: dict[str, Rule] = {
    **dict.fromkeys(
        "aten.sum aten.mean aten.nansum aten.prod aten.amax aten.amin aten.norm aten.linalg_vector_norm "
        "aten.all aten.any aten.logsumexp".split(),
        reduction,
    ),
    **dict.fromkeys("aten.argmax aten.argmin aten.max.dim aten.min.dim aten.aminmax".split(), extremum),
    **dict.fromkeys("aten.var aten.std aten.var_mean aten.std_mean".split(), deviation),
}
