"""Under which key a profiler's row and a trace's operation are the same work.

The profiler names the innermost operation that launched a kernel, a trace the outermost one below autograd: a
cast is `copy_` to one and `_to_copy` to the other. Both are brought to a common name and the shapes that decide
the work. Lists of tensors are too long for the profiler to print: those are joined by name alone.
"""

from __future__ import annotations

from typing import Any

from tonnage.memory.trace import Operation

Key = tuple[Any, ...]

_FILLS = frozenset(
    "zeros zeros_like new_zeros ones ones_like new_ones full full_like new_full zero_ fill_ scalar_tensor".split()
)
_DTYPES = {
    "c10::BFloat16": "bfloat16", "c10::Half": "float16", "float": "float32", "double": "float64",
    "long int": "int64", "long": "int64", "int": "int32", "bool": "bool", "unsigned char": "uint8",
}  # fmt: skip
_SAME = {
    "clamp_min": "relu", "clamp_min_": "relu_", "_conv_depthwise2d": "convolution", "cudnn_convolution": "convolution",
    "_cudnn_attention_forward": "_scaled_dot_product_cudnn_attention",
    "_cudnn_attention_backward": "_scaled_dot_product_cudnn_attention_backward",
    "_efficient_attention_forward": "_scaled_dot_product_efficient_attention",
    "_efficient_attention_backward": "_scaled_dot_product_efficient_attention_backward",
    "_flash_attention_forward": "_scaled_dot_product_flash_attention",
    "_flash_attention_backward": "_scaled_dot_product_flash_attention_backward",
    "_index_put_impl_": "index_put_",
}  # fmt: skip
_HEADS_BEHIND = ("_efficient_attention", "_flash_attention")
"""These see batch, length, heads, width where the operation around them has heads before the length."""


def traced_key(operation: Operation) -> Key:
    """The key of a trace's operation."""
    name = operation.name.split(".")[1] if "." in operation.name else operation.name
    shapes = [tensor.shape for tensor in operation.inputs]
    if name.startswith(("_foreach", "_fused_adam", "_fused_sgd", "_amp_foreach")):
        return (name,)
    if name in ("_to_copy", "clone", "copy_"):
        source = operation.inputs[-1 if name == "copy_" else 0]
        into = operation.outputs[0].dtype if operation.outputs else source.dtype
        return ("copy_", source.shape, source.dtype, into)
    if name in _FILLS:
        made = operation.outputs or operation.inputs
        return ("fill_", made[0].shape if made else ())
    if "attention" in name:
        return (name, *shapes[: 4 if name.endswith("backward") else 3])
    if name == "convolution":
        return (name, *shapes[:2])
    if name == "embedding":
        return ("index_select", shapes[0])
    return (name, *shapes)


def profiled_key(row: dict[str, Any]) -> Key:
    """The key of a profiler's row."""
    inner = row["op"].removeprefix("aten::")
    name = _SAME.get(inner, inner)
    shapes = _tensor_shapes(row["shapes"], row["types"])
    if name.startswith(("_foreach", "_fused_adam", "_fused_sgd", "_amp_foreach")):
        return (name,)
    if name == "copy_" and len(shapes) >= 2:
        into, source = (_DTYPES.get(kind, kind) for kind in row["types"][:2])
        return ("copy_", shapes[1], source, into)
    if name in ("fill_", "zero_"):
        return ("fill_", *shapes[:1])
    if "attention" in name:
        taken = shapes[: 4 if name.endswith("backward") else 3]
        if inner.startswith(_HEADS_BEHIND):
            taken = tuple((b, h, s, d) for b, s, h, d in (each for each in taken if len(each) == 4))
        return (name, *taken)
    if name == "convolution":
        return (name, *shapes[:2])
    if name == "index_select":
        return (name, *shapes[:1])
    return (name, *shapes)


def _tensor_shapes(shapes: list[Any], types: list[Any]) -> tuple[tuple[int, ...], ...]:
    """Shapes of the tensors among the arguments, lists flattened, as a trace writes them."""
    found: list[tuple[int, ...]] = []
    for shape, kind in zip(shapes, types, strict=False):
        if kind in ("", "Scalar", "ScalarList", "GenericList"):
            continue
        if kind == "TensorList" or (shape and isinstance(shape[0], list)):
            found.extend(tuple(each) for each in shape)
        else:
            found.append(tuple(shape))
    return tuple(found)
