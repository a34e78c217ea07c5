"""Fused attention: two products over every pair of positions forward, five backward, half of them if causal."""

from __future__ import annotations

from tonnage.memory.trace import Operation, TensorInfo
from tonnage.timing.tensors import total_bytes, total_read
from tonnage.timing.work import Arithmetic, Tiles, Work, base_name, octaves, rate_of

_KERNELS = {
    "_scaled_dot_product_cudnn_attention": "cudnn",
    "_cudnn_attention_forward": "cudnn",
    "_scaled_dot_product_flash_attention": "flash",
    "_flash_attention_forward": "flash",
    "_scaled_dot_product_efficient_attention": "efficient",
    "_efficient_attention_forward": "efficient",
    "_scaled_dot_product_fused_attention_overrideable": "flash",
}


def attention_work(operation: Operation, arithmetic: Arithmetic) -> Work | None:
    """The work of a fused attention kernel; None where the operation is none."""
    name = base_name(operation)
    backward = name.endswith("_backward")
    forward_name = (
        name.removesuffix("_backward") if name.startswith("_scaled") else name.replace("backward", "forward")
    )
    kernel = _KERNELS.get(forward_name)
    if kernel is None:
        return None
    query, key, value = operation.inputs[1:4] if backward else operation.inputs[:3]
    batch, heads, length, other, width, wide = _sizes(query, key, value, name)
    causal = operation.scalars.get("is_causal") is True
    pairs = batch * heads * length * other * (0.5 if causal and length > 1 else 1.0)
    products = 2.5 if backward else 1.0
    masked = len(operation.inputs) > (9 if backward else 3) and kernel == "efficient"
    return Work(
        kind="attention",
        family=f"{kernel}{'/backward' if backward else ''}",
        features=(
            octaves(length),
            octaves(other),
            0.7 * octaves(batch * heads),
            2.0 * octaves(width),
            1.5 * causal,
            2.0 * (query.dtype == "float32"),
            1.0 * masked,
            1.0 * bool(operation.scalars.get("dropout_p")),
        ),
        flops=2.0 * pairs * (width + wide) * products,
        rate=rate_of(query.dtype, tf32=arithmetic.matrix_tf32),
        bytes=float(total_read(operation.inputs) + total_bytes(operation.outputs)),
        kernels=3.0 if backward else 1.0,
        tiles=Tiles(length, other, 0.5 * (width + wide), batch * heads),
    )


def _sizes(query: TensorInfo, key: TensorInfo, value: TensorInfo, name: str) -> tuple[float, ...]:
    """Batch, heads, lengths and widths; the plain kernels have heads behind the length."""
    if not name.startswith("_scaled") and len(query.shape) == 4:
        batch, length, heads, width = query.shape
        return (
            float(batch),
            float(heads),
            float(length),
            float(key.shape[1]),
            float(width),
            float(value.shape[-1]),
        )
    if len(query.shape) == 4:
        batch, heads, length, width = query.shape
        return (
            float(batch),
            float(heads),
            float(length),
            float(key.shape[2]),
            float(width),
            float(value.shape[-1]),
        )
    length, heads, width = query.shape[-3:]
    return 1.0, float(heads), float(length), float(key.shape[-3]), float(width), float(value.shape[-1])
