"""Memory an operation takes and returns inside itself: on the device, but in no tensor a trace can see.

A rule looks at one operation (its name, shapes, strides, dtypes, plain arguments) and at the device, and says which
blocks the kernel behind it allocates beside its outputs, and when. The order matters as much as the size: a block
that is taken before the output may sit where the output would have gone.

To add a rule: write `def rule(operation, device) -> Temporaries` in the file of its family, with the formula and
the evidence in its docstring, name it in that file's RULES, and add its figures to the tests. An operation without
a rule takes nothing.

Evidence is one of: *measured* (peak inside the operation read off an H200 with torch 2.11), *source* (read in
torch 2.11's kernel), or both.
"""

from __future__ import annotations

from tonnage.memory.device import Device
from tonnage.memory.temporaries import (
    attention,
    convolutions,
    embeddings,
    fourier,
    indexing,
    matrices,
    normalizing,
    norms,
    recurrent,
    reductions,
    softmax,
)
from tonnage.memory.temporaries.rule import NONE, Rule, Temporaries, Temporary
from tonnage.memory.trace import Operation

__all__ = ["RULES", "Rule", "Temporaries", "Temporary", "temporaries_of"]

RULES: dict[str, Rule] = {
    **attention.RULES,
    **convolutions.RULES,
    **embeddings.RULES,
    **fourier.RULES,
    **indexing.RULES,
    **matrices.RULES,
    **normalizing.RULES,
    **norms.RULES,
    **recurrent.RULES,
    **reductions.RULES,
    **softmax.RULES,
}
"""By overload (`aten.sum.dim_IntList`) or by operation (`aten.sum`), the overload first."""


def temporaries_of(operation: Operation, device: Device) -> Temporaries:
    """What this operation takes beside its outputs on this device."""
    rule = RULES.get(operation.name) or RULES.get(operation.name.rpartition(".")[0])
    if rule is None or not operation.inputs or not _is_plain(operation):
        return NONE
    return tuple(found for found in rule(operation, device) if found.size > 0)


def _is_plain(operation: Operation) -> bool:
    """Whether it runs on the GPU on tensors with strides; sparse and nested ones have kernels no rule knows."""
    return operation.inputs[0].device == "cuda" and all(
        len(tensor.shape) == len(tensor.stride) for tensor in operation.inputs
    )
