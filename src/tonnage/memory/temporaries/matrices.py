"""Matrix products: operands that cuBLAS cannot read as they lie are copied first."""

from __future__ import annotations

from tonnage.memory.device import Device
from tonnage.memory.temporaries.rule import Rule, Temporaries, Temporary, bytes_of
from tonnage.memory.trace import Operation, TensorInfo


def product(operation: Operation, device: Device) -> Temporaries:
    """A copy of each matrix of which neither dimension is contiguous with the other one's stride large enough.

    Evidence: source (`prepare_matrix_for_cublas`, `prepare_batch_matrix_for_cublas`).
    """
    del device
    matrices = operation.inputs[-2:]
    return tuple(Temporary(bytes_of(matrix)) for matrix in matrices if not _is_readable(matrix))


def _is_readable(matrix: TensorInfo) -> bool:
    """Whether the last two dimensions are a row- or column-major matrix."""
    (rows, columns), (down, across) = matrix.shape[-2:], matrix.stride[-2:]
    return (down == 1 and across >= max(1, rows)) or (across == 1 and down >= max(1, columns))


RULES: dict[str, Rule] = dict.fromkeys(("aten.mm", "aten.addmm", "aten.bmm", "aten.baddbmm"), product)
