"""Gradients of embedding tables: the indices are sorted, and rows are summed in parts.

N indices, V rows of the table, d columns.
"""

from __future__ import annotations

from math import prod

from tonnage.memory.device import Device
from tonnage.memory.temporaries.rule import NONE, Rule, Temporaries, Temporary, item_size
from tonnage.memory.trace import Operation

UNSORTED = 3072
"""Up to so many indices a kernel adds rows directly."""
ROWS_PER_PART = 10


def dense_backward(operation: Operation, device: Device) -> Temporaries:
    """Sorted indices first (4 x 8 N and the sort's 16 N), then the table, then partial sums in fp32.

    Partial sums: `4 d (N / 10 + min(N, V))`; segments and offsets `8 (N + 2 min(N, V) + N / 10 + min(N, V))`.
    Evidence: source (`embedding_dense_backward_cuda`); measured total `4 N d + 340 N` at d = 768, N < V, which is
    this formula.
    """
    del device
    gradient, indices = operation.inputs[0], operation.inputs[1]
    count, width = prod(indices.shape), gradient.shape[-1]
    rows = operation.outputs[0].shape[0] if operation.outputs else count
    if count <= UNSORTED:
        return NONE
    index = item_size(indices.dtype)
    segments = min(count, rows)
    parts = count // ROWS_PER_PART + segments
    accumulated = 8 if gradient.dtype == "float64" else 4
    return (
        Temporary(index * count, after=0),
        Temporary(index * count, after=0),
        Temporary(index * count, after=0, until=0),
        Temporary(2 * index * count, after=0, until=0),
        Temporary(index * count),
        Temporary(index * segments),
        Temporary(index * segments),
        Temporary(index * parts),
        Temporary(accumulated * width * parts),
    )


RULES: dict[str, Rule] = {"aten.embedding_dense_backward": dense_backward}
