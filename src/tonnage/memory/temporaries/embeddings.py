"""Gradients of embedding tables: the indices are sorted, and rows are summed in parts.

N indices, V rows of the table, d columns.
"""

from __future__ import annotations

from math import prod

from tonnage.memory.device import Device
from tonnage.memory.temporaries.rule import Rule, Temporaries, Temporary, bytes_of, is_in_order, item_size
from tonnage.memory.trace import Operation, TensorInfo

UNSORTED = 3072
"""Up to so many indices a kernel adds rows directly."""
ROWS_PER_PART = 10
FEW_ROWS = 64
"""A table of so few rows is summed without parts (seen: 2 and 32 rows; parts were seen from 30,522 on)."""


def lookup(operation: Operation, device: Device) -> Temporaries:
    """Indices that do not lie in order are copied first, `8 N`. Evidence: measured (expanded type indices of BERT)."""
    del device
    return _in_order(operation.inputs[1])


def dense_backward(operation: Operation, device: Device) -> Temporaries:
    """Gradient and indices in order, sorted indices (3 x 8 N and the sort's 16 N), then the table, then partial sums.

    Partial sums in fp32: `4 d (N / 10 + min(N, V))`; before them segments and offsets: `8 (2 N + 2 min(N, V))` and
    `8 (N / 10 + min(N, V))`. Evidence: source (`embedding_dense_backward_cuda`); measured, exact on 30 of 34 shapes,
    the other four being tables of 2 and 32 rows.
    """
    del device
    gradient, indices = operation.inputs[0], operation.inputs[1]
    count = prod(indices.shape)
    rows = operation.outputs[0].shape[0] if operation.outputs else count
    copies = (*_in_order(indices), *_in_order(gradient))
    if count <= UNSORTED:
        return copies
    return (*copies, *_sorted_sums(gradient, indices, rows))


def _sorted_sums(gradient: TensorInfo, indices: TensorInfo, rows: int) -> Temporaries:
    """Sorted indices before the table is made, partial sums after it."""
    count, width = prod(indices.shape), gradient.shape[-1]
    index = item_size(indices.dtype)
    segments = min(count, rows)
    parts = count // ROWS_PER_PART + segments
    accumulated = 8 if gradient.dtype == "float64" else 4
    summed = index * parts if rows <= FEW_ROWS else accumulated * width * parts
    before = (index * count, index * count)
    after = (
        index * count,
        8,
        index * count,
        1279,
        index * segments,
        index * segments,
        1279,
        8,
        index * parts,
        summed,
    )
    return (
        *(Temporary(size, after=0) for size in before),
        Temporary(index * count, after=0, until=0),
        Temporary(2 * index * count + 19 * 1024, after=0, until=0),
        *(Temporary(size) for size in after),
    )


def bag_backward(operation: Operation, device: Device) -> Temporaries:
    """Bags that are summed or averaged: the gradient in order, then as a dense table's, however few the indices.

    Evidence: measured on one shape, exact; source (`embedding_bag_backward_cuda_sum_avg`).
    """
    del device
    gradient, indices = operation.inputs[0], operation.inputs[1]
    if not operation.outputs:
        return ()
    return (*_in_order(gradient), *_sorted_sums(gradient, indices, operation.outputs[0].shape[0]))


def _in_order(tensor: TensorInfo) -> Temporaries:
    """A copy of a tensor that does not lie in order, made before anything else."""
    return () if is_in_order(tensor) else (Temporary(bytes_of(tensor), after=0),)


RULES: dict[str, Rule] = {
    "aten.embedding": lookup,
    "aten.embedding_dense_backward": dense_backward,
    "aten._embedding_bag_backward": bag_backward,
    "aten._embedding_bag_dense_backward": bag_backward,
}
