"""Which kind of work an operation is: the first reader that knows it."""

from __future__ import annotations

from tonnage.memory.trace import Operation
from tonnage.timing.attention import attention_work
from tonnage.timing.collective import collective_work
from tonnage.timing.convolution import convolution_work
from tonnage.timing.lists import list_work
from tonnage.timing.matrix import matrix_work
from tonnage.timing.memory_bound import memory_work
from tonnage.timing.moving import moving_work
from tonnage.timing.recurrent import recurrent_work
from tonnage.timing.tensors import total_bytes, total_read
from tonnage.timing.work import FREE, Arithmetic, Work, octaves


def work_of(operation: Operation, arithmetic: Arithmetic | None = None) -> Work:
    """What the operation asks of a device."""
    chosen = arithmetic or Arithmetic()
    if operation.name.endswith((".out", "_out")):
        operation = _without_destination(operation)
    if operation.name.startswith("inductor."):
        return _compiled(operation)
    if all(tensor.device == "cpu" for tensor in (*operation.inputs, *operation.outputs)) and operation.inputs:
        return FREE
    return (
        collective_work(operation)
        or matrix_work(operation, chosen)
        or attention_work(operation, chosen)
        or convolution_work(operation, chosen)
        or list_work(operation)
        or recurrent_work(operation, chosen)
        or moving_work(operation)
        or memory_work(operation)
    )


def _without_destination(operation: Operation) -> Operation:
    """Where the result goes is named among the arguments; it is written, not read."""
    given = len(operation.inputs) - len(operation.outputs)
    kept = operation.inputs[:given] if given > 0 else operation.inputs
    return Operation(operation.name, kept, operation.outputs, operation.scalars)


def _compiled(operation: Operation) -> Work:
    """A kernel that a compiler made out of several operations: it moves bytes."""
    said = operation.scalars.get("bytes")
    moved = float(said) if isinstance(said, int | float) else 0.0
    if not moved:
        moved = float(total_read(operation.inputs) + total_bytes(operation.outputs))
    family = operation.name.replace(".", "/")
    return Work(kind="memory", family=family, features=(octaves(moved), 0.75, 1.5, 0.0, 0.0), bytes=moved)
