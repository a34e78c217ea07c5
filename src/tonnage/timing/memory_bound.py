"""Work that moves bytes: how many, by operation, and which of its inputs are really read.

Every operation that is not a product ends here, known by name or not: an unknown one is taken to read what it is
given and write what it returns, at the pace of the elementwise operations that were measured.
"""

from __future__ import annotations

from tonnage.memory.trace import Operation, TensorInfo
from tonnage.timing.tensors import (
    FLOATING,
    count,
    element_bytes,
    full_bytes,
    is_channels_last,
    is_packed,
    total_bytes,
    total_read,
    widest,
)
from tonnage.timing.work import FREE, Work, base_name, octaves

WITHOUT_KERNEL = frozenset(
    """empty empty_like empty_strided new_empty new_empty_strided empty_permuted detach detach_ alias resize_ set_
    record_stream is_pinned _pin_memory view t transpose permute expand reshape unsqueeze squeeze slice select
    as_strided split split_with_sizes unbind _unsafe_view lift_fresh is_same_size _has_compatible_shallow_copy_type
    _reshape_alias view_as_real view_as_complex diagonal unfold narrow item sym_size _version wait_tensor""".split()
)
"""Operations that only rename memory, or take it without touching it."""

_ONLY_WRITE = frozenset(
    """zero_ fill_ zeros ones full zeros_like ones_like full_like new_zeros new_ones new_full arange randn rand randint
    randperm normal_ uniform_ bernoulli_ random_ exponential_ randn_like rand_like randint_like eye linspace
    scalar_tensor zero fill tril_indices triu_indices bernoulli normal""".split()
)
_GATHERS = frozenset("embedding index index_select gather take _embedding_bag take_along_dim".split())
_SCATTERS = frozenset(
    """index_put index_put_ _unsafe_index_put _index_put_impl_ index_add index_add_ scatter scatter_ scatter_add
    scatter_add_ scatter_reduce scatter_reduce_ index_copy index_copy_ masked_scatter""".split()
)
_BY_ROW = frozenset(
    """native_layer_norm native_layer_norm_backward _fused_rms_norm _fused_rms_norm_backward _softmax
    _softmax_backward_data _log_softmax _log_softmax_backward_data sum mean amax amin linalg_vector_norm cumsum max min
    argmax argmin var var_mean std logsumexp topk sort argsort native_group_norm native_group_norm_backward any all
    nll_loss_forward nll_loss_backward cat stack prod norm""".split()
)
_IMAGES = frozenset(
    """cudnn_batch_norm cudnn_batch_norm_backward native_batch_norm native_batch_norm_backward
    _native_batch_norm_legit max_pool2d_with_indices max_pool2d_with_indices_backward avg_pool2d avg_pool2d_backward
    _adaptive_avg_pool2d _adaptive_avg_pool2d_backward upsample_nearest2d upsample_bilinear2d
    upsample_nearest2d_backward upsample_bilinear2d_backward _batch_norm_with_update batch_norm_backward
    batch_norm_elemt batch_norm_stats""".split()
)
_KERNELS = {
    "embedding_dense_backward": 8.0,
    "index_put_": 8.0,
    "index_put": 9.0,
    "sort": 6.0,
    "argsort": 6.0,
    "topk": 3.0,
    "nonzero": 5.0,
    "bincount": 6.0,
    "cumsum": 2.0,
    "unique": 8.0,
    "native_layer_norm_backward": 2.0,
    "_fused_rms_norm_backward": 2.0,
    "native_group_norm": 2.0,
    "native_group_norm_backward": 4.0,
    "nll_loss_backward": 2.0,
}


def memory_work(operation: Operation) -> Work:
    """Bytes that move; nothing where the operation only renames memory."""
    name = base_name(operation)
    if name in WITHOUT_KERNEL:
        return FREE
    moved = traffic(operation, name)
    strands, length = _strands(operation, name)
    return Work(
        kind="memory",
        family=_family(name),
        features=_features(operation, name, moved),
        bytes=moved,
        kernels=_KERNELS.get(name, 1.0),
        steps=_steps(operation, name),
        strands=strands,
        strand_length=length,
    )


def _family(name: str) -> str:
    """In place or not is the same kernel; a copy is a copy by whatever name."""
    plain = name.removesuffix("_") if not name.endswith("__") else name
    return "copy" if plain in ("_to_copy", "clone", "copy") else plain


def _steps(operation: Operation, name: str) -> float:
    """A running sum down the columns goes row by row."""
    dim = operation.scalars.get("dim")
    if name not in ("cumsum", "cumprod", "logcumsumexp") or not isinstance(dim, int) or not operation.inputs:
        return 0.0
    shape = operation.inputs[0].shape
    return shape[dim] / 40.0 if len(shape) > 1 and dim % len(shape) != len(shape) - 1 else 0.0


def _strands(operation: Operation, name: str) -> tuple[float, float]:
    """Batch statistics of images whose channels lie apart are taken one channel to a block."""
    if "batch_norm" not in name or not operation.inputs:
        return 0.0, 0.0
    image = operation.inputs[0]
    if len(image.shape) < 3 or is_channels_last(image):
        return 0.0, 0.0
    return float(image.shape[1]), count(image) / image.shape[1]


def traffic(operation: Operation, name: str) -> float:
    """Bytes read and written."""
    written = total_bytes(operation.outputs)
    if name in _ONLY_WRITE:
        return float(max(written, total_bytes(operation.inputs[:1])))
    if name == "copy_":
        return float(total_read(operation.inputs[1:2]) + total_bytes(operation.inputs[:1]))
    if name in _GATHERS:
        return float(2 * written + total_read(operation.inputs[1:]))
    if name in _SCATTERS:
        values = total_read(operation.inputs[1:])
        whole = 0 if name.endswith("_") else 2 * full_bytes(operation.inputs[0])
        return float(whole + 2 * values)
    if name == "embedding_dense_backward":
        return float(written + 2 * total_read(operation.inputs))
    if name == "nll_loss_forward":
        rows = operation.inputs[1]
        return float(32 * full_bytes(rows))
    if name == "nll_loss_backward":
        return float(written + total_read(operation.inputs[2:3]))
    return float(total_read(operation.inputs) + written)


def _features(operation: Operation, name: str, moved: float) -> tuple[float, ...]:
    """Size; then what makes kernels of one name differ: dtypes, layout, length of the rows they work on."""
    tensors = (*operation.inputs, *operation.outputs)
    large = widest(tensors)
    width = 0.0
    if large is not None and large.shape:
        if name in _BY_ROW:
            width = 0.7 * octaves(_row(operation, large.shape))
        elif name in _IMAGES and len(large.shape) > 1:
            width = 0.7 * octaves(large.shape[1])
        elif name in _GATHERS or name in _SCATTERS or name.startswith("embedding"):
            width = 0.4 * octaves(large.shape[-1])
    layout = 2.0 * is_channels_last(large) if large is not None and name in _IMAGES else _layout(tensors)
    read = widest(each for each in operation.inputs if each.dtype in FLOATING)
    written = widest(each for each in operation.outputs if each.dtype in FLOATING) or read
    into = element_bytes(written.dtype) if written else 4
    return (
        octaves(moved),
        0.75 * octaves(element_bytes(read.dtype) if read else into),
        0.75 * octaves(into),
        layout,
        width,
    )


def _layout(tensors: tuple[TensorInfo, ...]) -> float:
    """How far from the simplest case, where all lie alike and are read in wide pieces.

    0 all alike; 0.8 alike but of several dtypes; 1.6 some are repeated along a dimension; 2.4 some are strided.
    """
    full = max((count(each) for each in tensors), default=0)
    large = [each for each in tensors if count(each) > 1]
    if any(not is_packed(each) and 0 not in each.stride and count(each) == full for each in large):
        return 2.4
    if len({each.stride for each in large if count(each) == full and 0 not in each.stride}) > 1:
        return 2.4
    if any(count(each) < full or 0 in each.stride for each in large):
        return 1.6
    return 0.8 if len({each.dtype for each in large if each.dtype in FLOATING}) > 1 else 0.0


def _row(operation: Operation, shape: tuple[int, ...]) -> float:
    """Length of what one reduction runs over; negative dims and none at all included."""
    if "dim" not in operation.scalars and "normalized_shape" not in operation.scalars:
        return 2.0**20  # all of it
    dims = operation.scalars.get("dim", operation.scalars.get("normalized_shape"))
    if "normalized_shape" in operation.scalars and isinstance(dims, list | tuple):
        return float(_product(each for each in dims if isinstance(each, int)))
    if isinstance(dims, int):
        dims = [dims]
    if isinstance(dims, list | tuple) and dims:
        kept = [each for each in dims if isinstance(each, int) and -len(shape) <= each < len(shape)]
        inner = len(shape) - 1 in kept or -1 in kept
        reduced = float(_product(shape[each] for each in kept))
        return reduced if inner else 1.0 / max(reduced, 1.0)  # along columns: another kind of kernel
    return float(shape[-1])


def _product(values: object) -> int:
    made = 1
    for value in values:  # type: ignore[attr-defined]
        made *= value
    return made
