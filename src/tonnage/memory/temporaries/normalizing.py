"""Layer and batch norms: inputs put in order, and partial sums of the gradients of scale and shift.

M rows (or pixels), N columns (or channels).
"""

from __future__ import annotations

from math import prod

from tonnage.memory.device import Device
from tonnage.memory.temporaries.reductions import shared_partials
from tonnage.memory.temporaries.rule import Rule, Temporaries, Temporary, bytes_of, is_in_order, item_size
from tonnage.memory.trace import Operation, TensorInfo

TALL = 64 * 1024
"""From so many rows on, scale and shift are summed in blocks of rows first."""
ROWS_PER_BLOCK = 32
MOST_BLOCKS = 32768


def layer_norm(operation: Operation, device: Device) -> Temporaries:
    """A copy of an input that does not lie in order, before the result. Evidence: measured, exact on five shapes."""
    del device
    return _copy(operation.inputs[0], after=0)


def layer_norm_backward(operation: Operation, device: Device) -> Temporaries:
    """Copies of input (first) and gradient (last) that do not lie in order; for tall inputs partial sums.

    Partial sums of scale and shift: `M / 32` rows of N each, and what their own sums take.
    Evidence: measured, exact on 14 shapes; source (`LaunchGammaBetaBackwardCUDAKernel`).
    """
    gradient, source = operation.inputs[0], operation.inputs[1]
    copies = (*_copy(source, after=0), *_copy(gradient))
    # The last three inputs are the statistics and, where there is one, the scale, whose length is N.
    columns = operation.inputs[-1].shape[-1] if len(operation.inputs) > 4 else source.shape[-1]
    rows = prod(source.shape) // max(1, columns)
    if rows <= TALL or columns // 32 >= device.multiprocessors // 2:
        return copies
    blocks = min(-(-rows // ROWS_PER_BLOCK), MOST_BLOCKS // max(1, -(-columns // 32)))
    dtype = operation.inputs[-1].dtype
    partial = TensorInfo((blocks, columns), (columns, 1), dtype)
    sums = shared_partials(partial, frozenset({0}), 4, device)
    size = blocks * columns * item_size(dtype)
    return (*copies, Temporary(size), Temporary(size), *sums)


def batch_norm(operation: Operation, device: Device) -> Temporaries:
    """With channels last: a stage of partial sums, `N min(2048, M / 16)` bytes. Evidence: measured, exact on 12."""
    del device
    return _stage(operation.inputs[0], 2048, 16)


def batch_norm_backward(operation: Operation, device: Device) -> Temporaries:
    """With channels last: half of that. Evidence: measured, exact on 12 shapes."""
    del device
    return _stage(operation.inputs[0], 1024, 32)


def _stage(source: TensorInfo, most: int, pixels_per_byte: int) -> Temporaries:
    if len(source.shape) < 3 or source.stride[1] != 1 or source.shape[1] == 1:
        return ()
    channels = source.shape[1]
    pixels = prod(source.shape) // channels
    return (Temporary(channels * min(most, pixels // pixels_per_byte)),)


def _copy(tensor: TensorInfo, *, after: int | None = None) -> Temporaries:
    if is_in_order(tensor):
        return ()
    size = bytes_of(tensor)
    return (Temporary(size) if after is None else Temporary(size, after=after),)


RULES: dict[str, Rule] = {
    "aten.native_layer_norm": layer_norm,
    "aten.native_layer_norm_backward": layer_norm_backward,
    "aten.native_batch_norm": batch_norm,
    "aten.native_batch_norm_backward": batch_norm_backward,
}
