"""Operations over lists of tensors: optimizers, clipping, scaling of gradients.

A kernel takes as many tensors as its argument space holds, so a list costs bytes and a launch for every few dozen
tensors. Operations that change their first list do not return it: what they write is counted from the inputs.
"""

from __future__ import annotations

from tonnage.memory.trace import Operation
from tonnage.timing.tensors import element_bytes, total_bytes
from tonnage.timing.work import Work, base_name, octaves

_TENSORS_PER_LAUNCH = {1: 110, 2: 64, 3: 48, 4: 36, 5: 30}
_CHUNK = 65536
"""Elements one block of a list kernel works on; 320 blocks to a launch."""
_BLOCKS_PER_LAUNCH = 320


def list_work(operation: Operation) -> Work | None:
    """The work of an operation over lists; None where the operation is none."""
    name = base_name(operation)
    if not name.startswith(("_foreach_", "_fused_adam", "_fused_sgd", "_fused_adagrad", "_amp_foreach")):
        return None
    lists, written = _lists(name, operation)
    number = max(1, len(operation.inputs) // lists)
    first = operation.inputs[:number]
    moved = float(total_bytes(operation.inputs) + written * total_bytes(first))
    if not name.endswith("_"):
        moved += total_bytes(operation.outputs)
    elements = sum(total_bytes((each,)) / element_bytes(each.dtype) for each in first)
    launches = max(
        number / _TENSORS_PER_LAUNCH.get(lists, 30),
        (elements / _CHUNK + number / 2) / _BLOCKS_PER_LAUNCH,
        1.0,
    )
    slow = _one_by_one(name, operation)
    if slow:
        launches = float(number)
    wide = max((element_bytes(each.dtype) for each in first), default=4)
    return Work(
        kind="lists",
        family=name.removesuffix("_") + ("/one by one" if slow else ""),
        features=(octaves(moved), octaves(number), octaves(wide)),
        bytes=moved,
        kernels=launches,
    )


def _one_by_one(name: str, operation: Operation) -> bool:
    """Lists of several dtypes have no kernel of their own: each tensor gets its launch."""
    if not name.startswith("_foreach_") or name in ("_foreach_copy_", "_foreach_norm"):
        return False
    return len({each.dtype for each in operation.inputs}) > 1


def _lists(name: str, operation: Operation) -> tuple[int, int]:
    """How many lists of equal length the tensors are, and how many of them are written in place."""
    if name.startswith("_fused_adam"):
        amsgrad = operation.scalars.get("amsgrad") is True
        return (6, 4) if amsgrad else (5, 3)  # the fifth holds the step counters
    if name.startswith("_fused_sgd"):
        momentum = operation.scalars.get("momentum")
        return (3, 2) if momentum else (2, 1)
    overload = operation.name.rpartition(".")[2]
    plain = name.removeprefix("_foreach_").removesuffix("_")
    lists = 1
    if plain in ("addcmul", "addcdiv"):
        lists = 3
    elif plain in ("lerp", "copy"):
        lists = 3 if overload == "List" and plain == "lerp" else 2
    elif overload == "List" and plain not in ("norm", "sqrt", "neg"):
        lists = 2
    return lists, int(name.endswith("_"))
