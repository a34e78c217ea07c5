"""Matrix products: how much arithmetic, in which layout, cut into which tiles."""

from __future__ import annotations

from collections.abc import Callable

from tonnage.memory.trace import Operation, TensorInfo
from tonnage.timing.tensors import total_bytes, total_read
from tonnage.timing.work import Arithmetic, Tiles, Work, base_name, octaves, rate_of

_ALIGNED = 8
"""Elements; a row that is no multiple of it cannot be loaded 16 bytes at a time."""


def matrix_work(operation: Operation, arithmetic: Arithmetic) -> Work | None:
    """The work of a product; None where the operation is none."""
    reader = _READERS.get(base_name(operation).rstrip("_"))
    return reader(operation, arithmetic) if reader else None


def _plain(operation: Operation, arithmetic: Arithmetic) -> Work:
    left, right = _factors(operation)
    return _product(operation, arithmetic, left, right, batch=1.0)


def _scaled(operation: Operation, arithmetic: Arithmetic) -> Work:
    left, right = operation.inputs[:2]
    return _product(operation, arithmetic, left, right, batch=1.0)


def _batched(operation: Operation, arithmetic: Arithmetic) -> Work:
    left, right = _factors(operation)
    return _product(operation, arithmetic, left, right, batch=float(left.shape[0]))


def _factors(operation: Operation) -> tuple[TensorInfo, TensorInfo]:
    """What is multiplied: behind what is added, where something is."""
    first = 1 if base_name(operation).startswith(("add", "badd", "_addmm")) else 0
    return operation.inputs[first], operation.inputs[first + 1]


def _product(
    operation: Operation, arithmetic: Arithmetic, left: TensorInfo, right: TensorInfo, *, batch: float
) -> Work:
    rows, depth, columns = float(left.shape[-2]), float(left.shape[-1]), float(right.shape[-1])
    rate = rate_of(left.dtype, tf32=arithmetic.matrix_tf32)
    kind = "bmm" if len(left.shape) == 3 else "mm"
    odd = "/odd" if _misaligned(left, right) or (columns > 1 and columns % _ALIGNED) else ""
    biased = len(operation.inputs) > 2
    features = (
        octaves(rows),
        octaves(columns),
        octaves(depth),
        octaves(batch),
        float(_is_turned(left)),
        float(_is_turned(right)),
        0.3 * biased,
    )
    return Work(
        kind="matrix",
        family=f"{kind}/{'half' if rate in ('bf16', 'fp16') else rate}{odd}",
        features=features,
        flops=2.0 * batch * rows * depth * columns,
        rate=rate,
        bytes=float(total_read((left, right)) + total_bytes(operation.outputs)),
        tiles=Tiles(rows, columns, depth, batch),
    )


def _grouped(operation: Operation, arithmetic: Arithmetic) -> Work:
    """Experts: rows are shared out among them; each multiplies its own."""
    left, right = operation.inputs[:2]
    groups: float
    rows: float
    depth: float
    if len(right.shape) == 3 and len(left.shape) == 2:
        groups, rows, depth, columns = right.shape[0], left.shape[0], left.shape[1], right.shape[2]
    elif len(left.shape) == 2:  # the gradient of the weights: depth is shared out
        groups = operation.outputs[0].shape[0] if operation.outputs else 1
        rows, depth, columns = left.shape[0] * groups, left.shape[1] / max(groups, 1), right.shape[1]
    else:
        groups, rows, depth, columns = (
            left.shape[0],
            left.shape[0] * left.shape[1],
            left.shape[2],
            right.shape[-1],
        )
    each = rows / max(groups, 1)
    fused = has_grouped_kernel(left)
    rate = rate_of(left.dtype, tf32=arithmetic.matrix_tf32)
    return Work(
        kind="matrix",
        family="grouped" if fused else "grouped/one by one",
        features=(octaves(each), octaves(columns), octaves(depth), octaves(groups)),
        flops=2.0 * rows * depth * columns,
        rate=rate,
        bytes=float(total_read((left, right)) + total_bytes(operation.outputs)),
        kernels=1.0 if fused else float(groups),
        tiles=Tiles(each, float(columns), float(depth), float(groups)),
    )


def has_grouped_kernel(rows: TensorInfo) -> bool:
    """Whether experts are multiplied in one kernel; else each has its own, and the host must first read the counts."""
    return rows.dtype == "bfloat16" or rows.dtype.startswith("float8")


def _is_turned(tensor: TensorInfo) -> bool:
    """Whether it is seen transposed: rows innermost."""
    return len(tensor.stride) >= 2 and tensor.stride[-2] == 1 and tensor.shape[-1] != 1


def _misaligned(*tensors: TensorInfo) -> bool:
    """Whether some row starts at an address that wide loads cannot use."""
    for tensor in tensors:
        steps = [step for step, size in zip(tensor.stride[-2:], tensor.shape[-2:], strict=False) if size > 1]
        leading = max(steps, default=1)
        if leading > 1 and leading % _ALIGNED:
            return True
    return False


_READERS: dict[str, Callable[[Operation, Arithmetic], Work]] = {
    "mm": _plain,
    "addmm": _plain,
    "_addmm_activation": _plain,
    "bmm": _batched,
    "baddbmm": _batched,
    "addbmm": _batched,
    "_scaled_mm": _scaled,
    "_int_mm": _scaled,
    "_grouped_mm": _grouped,
    "_scaled_grouped_mm": _grouped,
}
