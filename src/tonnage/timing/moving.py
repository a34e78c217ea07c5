"""Copies between host and device, and the points where the host waits for the device."""

from __future__ import annotations

from tonnage.memory.trace import Operation
from tonnage.timing.matrix import has_grouped_kernel
from tonnage.timing.tensors import total_bytes
from tonnage.timing.work import Work, base_name, octaves

_WAITING = frozenset(("_local_scalar_dense", "item", "equal", "is_nonzero"))
"""Their answer is a Python value: the host must have it before it goes on."""
_COUNTED = frozenset(("nonzero", "unique_dim", "_unique2", "unique_consecutive", "masked_select", "bincount"))
"""The shape of their result depends on the data, so the host waits for a count."""


def moving_work(operation: Operation) -> Work | None:
    """The work of a copy over the bus; None where nothing crosses it."""
    if base_name(operation) not in ("_to_copy", "copy_", "to", "_copy_from"):
        return None
    sides = {tensor.device for tensor in (*operation.inputs, *operation.outputs)}
    if not {"cpu", "cuda"} <= sides:
        return None
    moved = float(total_bytes(operation.outputs or operation.inputs[:1]))
    source = operation.inputs[-1 if base_name(operation) == "copy_" else 0]
    pinned = operation.scalars.get("non_blocking") is True
    away = "to device" if source.device == "cpu" else "to host"
    return Work(
        kind="moving", family=f"{away}{', pinned' if pinned else ''}", features=(octaves(moved),), bytes=moved
    )


def waits(operation: Operation) -> bool:
    """Whether the host cannot go on before the device has done all it was asked for."""
    name = base_name(operation)
    if name in _WAITING or name in _COUNTED:
        return True
    if name == "index" and any(tensor.dtype == "bool" for tensor in operation.inputs[1:]):
        return True
    if name == "_grouped_mm":
        return len(operation.inputs) > 2 and not has_grouped_kernel(operation.inputs[0])
    copied = name in ("_to_copy", "copy_", "_copy_from")
    if not copied or operation.scalars.get("non_blocking") is True:
        return False
    source = operation.inputs[-1] if name == "copy_" else operation.inputs[0]
    return source.device == "cuda" and any(each.device == "cpu" for each in operation.outputs)
