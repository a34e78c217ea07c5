"""Scaled dot product attention: what the fused kernels keep beside the gradients.

B batch, H query heads, S query length, D head size.
"""

from __future__ import annotations

from tonnage.memory.device import Device
from tonnage.memory.temporaries.rule import Rule, Temporaries, Temporary, bytes_of, item_size
from tonnage.memory.trace import Operation


def cudnn_backward(operation: Operation, device: Device) -> Temporaries:
    """One block after the gradients: the queries' gradient in fp32, `4 B H S D`, row sums, `4 B H S`, and 256 bytes.

    With fewer key heads than query heads, keys' and values' gradients for every query head too.
    Evidence: measured, exact on 29 shapes (with and without masks, dropout, grouped heads); source for the order.
    """
    del device
    query, key = operation.inputs[1], operation.inputs[2]
    batch, heads, length, size = query.shape
    needed = 4 * batch * heads * length * size + 4 * batch * heads * length + 256
    if key.shape[1] != heads:
        needed += 2 * batch * heads * key.shape[2] * size * item_size(key.dtype)
    return (Temporary(needed),)


def cudnn_forward(operation: Operation, device: Device) -> Temporaries:
    """256 bytes after the results. Evidence: measured, the same on 30 shapes."""
    del operation, device
    return (Temporary(256),)


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
    """Partial gradients of the queries: per head and 64 queries, `4 x 64 D` bytes and 16 for a lock.

    In fp32 the row sums of output times gradient are made outside the kernel before that: the product, `4 B H S D`,
    its sums, `4 B H S`, and their copy in order. Evidence: measured, exact on four shapes in fp32; source for half
    precision, where the kernel makes the row sums itself.
    """
    del device
    query = operation.inputs[1]
    batch, heads, length, size = query.shape
    rows = Temporary(4 * batch * heads * length)
    partial = Temporary(batch * heads * -(-length // 64) * (64 * size * 4 + 16))
    if query.dtype != "float32":
        return (rows, partial)
    return (Temporary(4 * batch * heads * length * size), rows, rows, partial)


RULES: dict[str, Rule] = {
    "aten._scaled_dot_product_cudnn_attention": cudnn_forward,
    "aten._scaled_dot_product_cudnn_attention_backward": cudnn_backward,
    "aten._scaled_dot_product_flash_attention_backward": flash_backward,
    "aten._scaled_dot_product_efficient_attention_backward": efficient_backward,
}
