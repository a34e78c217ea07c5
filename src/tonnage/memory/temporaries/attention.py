"""Scaled dot product attention: what the fused kernels keep beside the gradients.

B batch, H query heads, S query length, D head size.
"""

from __future__ import annotations

from tonnage.memory.device import Device
from tonnage.memory.temporaries.rule import NONE, Rule, Temporaries, Temporary, bytes_of
from tonnage.memory.trace import Operation


def cudnn_backward(operation: Operation, device: Device) -> Temporaries:
    """`4 B H S D` (gradient of the queries in fp32) and `4 B H S` (row sums), one block, after the gradients.

    Evidence: measured, exact on three shapes; source (one workspace, after dq, dk, dv).
    """
    del device
    batch, heads, length, size = operation.inputs[1].shape
    return (Temporary(4 * batch * heads * length * size + 4 * batch * heads * length),)


def flash_backward(operation: Operation, device: Device) -> Temporaries:
    """Row sums and the fp32 gradient of the queries, length rounded to 128 and head size to 32.

    With fewer key heads than query heads, keys' and values' gradients are first made for every query head.
    Evidence: source (`mha_bwd` of flash-attention 2 as torch vendors it).
    """
    del device
    query, key = operation.inputs[1], operation.inputs[2]
    batch, heads, length, size = query.shape
    rounded = -(-length // 128) * 128
    rows = Temporary(4 * batch * heads * rounded)
    accumulated = Temporary(4 * batch * heads * rounded * (-(-size // 32) * 32))
    if key.shape[1] == heads:
        return (rows, accumulated)
    expanded = Temporary(bytes_of(key) // key.shape[1] * heads)
    return (rows, accumulated, expanded, expanded)


def efficient_backward(operation: Operation, device: Device) -> Temporaries:
    """In fp32, `4 B H S D` for the product of output and its gradient, whose row sums (`4 B H S`) the kernel needs.

    In half precision the kernel makes the row sums itself. Evidence: source (`_efficient_attention_backward`).
    """
    del device
    query = operation.inputs[1]
    batch, heads, length, size = query.shape
    rows = Temporary(4 * batch * heads * length)
    if query.dtype != "float32":
        return (rows,)
    return (Temporary(4 * batch * heads * length * size), rows) if size else NONE


RULES: dict[str, Rule] = {
    "aten._scaled_dot_product_cudnn_attention_backward": cudnn_backward,
    "aten._scaled_dot_product_flash_attention_backward": flash_backward,
    "aten._scaled_dot_product_efficient_attention_backward": efficient_backward,
}
