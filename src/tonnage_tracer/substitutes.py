"""Operations that torch describes wrongly, or not at all, without a device.

Each entry says what the real kernel returns and, where it is not plain, how that is known.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from .known_values import known_value

Handler = Callable[[Any, Any, dict[str, Any]], Any]


def handlers() -> dict[str, Handler]:
    """Which operation is answered how; NotImplemented leaves a call to torch."""
    return {
        "aten._grouped_mm.default": _grouped_mm,
        "aten._amp_update_scale_.default": _amp_update_scale,
        "aten._cudnn_rnn_flatten_weight.default": _cudnn_rnn_flatten_weight,
        "aten._cudnn_rnn.default": _cudnn_rnn,
        "aten._cudnn_rnn_backward.default": _cudnn_rnn_backward,
        "aten._use_cudnn_ctc_loss.default": _no,
        "aten._use_cudnn_ctc_loss.Tensor": _no,
        "aten._use_miopen_ctc_loss.default": _no,
        "aten._use_miopen_ctc_loss.Tensor": _no,
        "aten._ctc_loss.default": _ctc_loss,
        "aten._ctc_loss.Tensor": _ctc_loss,
        "aten._ctc_loss_backward.default": _ctc_loss_backward,
        "aten._ctc_loss_backward.Tensor": _ctc_loss_backward,
        "aten._nested_tensor_from_mask_left_aligned.default": _no,
        "aten._transformer_encoder_layer_fwd.default": _like_first,
    }


def _no(_func: Any, _args: Any, _kwargs: Any) -> bool:
    """A faster path that torch takes under conditions nobody can check here; without it, memory is no less."""
    return False


def _like_first(_func: Any, args: Any, _kwargs: Any) -> Any:
    """One result, shaped as the first argument."""
    return args[0].new_empty(args[0].shape)


def _ctc_loss(_func: Any, args: Any, _kwargs: Any) -> Any:
    """The loss of each sample, and the forward variable over (blank, label) pairs kept for the backward pass."""
    scores, targets, target_lengths = args[0], args[1], args[3]
    batch = scores.shape[1] if scores.dim() == 3 else 1
    longest = _longest(targets, target_lengths)
    return scores.new_empty((batch,)), scores.new_empty((batch, scores.shape[0], 2 * longest + 1))


def _ctc_loss_backward(_func: Any, args: Any, _kwargs: Any) -> Any:
    return args[1].new_empty(args[1].shape)


def _longest(targets: Any, lengths: Any) -> int:
    value = known_value(lengths) if isinstance(lengths, torch.Tensor) else None
    if value is not None:
        with torch._C._DisableTorchDispatch():
            return int(value.max())
    return int(max(lengths)) if isinstance(lengths, (list, tuple)) else int(targets.shape[-1])


def _grouped_mm(_func: Any, args: Any, kwargs: Any) -> Any:
    """Grouped products of any dtype.

    Torch's description insists on bfloat16, the dtype of the fast kernel; the real operation runs other dtypes
    group by group into the same output, which is what float32 experts get under autocast.
    """
    left, right = args[0], args[1]
    if left.dtype == right.dtype == torch.bfloat16:
        return NotImplemented
    offsets = kwargs.get("offs", args[2] if len(args) > 2 else None)
    dtype = kwargs.get("out_dtype") or left.dtype
    if left.dim() == 2:
        size = (
            [left.shape[0], right.shape[-1]]
            if right.dim() == 3
            else [offsets.shape[0], left.shape[0], right.shape[1]]
        )
    else:
        size = (
            [left.shape[1], right.shape[1]]
            if right.dim() == 2
            else [left.shape[0], left.shape[1], right.shape[-1]]
        )
    aligned = 16 // dtype.itemsize  # rows begin at multiples of 16 bytes, as the fast kernel wants them
    row = -(-size[-1] // aligned) * aligned
    stride = [row, 1] if len(size) == 2 else [size[1] * row, row, 1]
    return torch.empty_strided(size, stride, dtype=dtype, device=left.device)


def _amp_update_scale(_func: Any, args: Any, _kwargs: Any) -> Any:
    """The scaler's own two numbers are updated in place."""
    return args[0]


def _cudnn_rnn_flatten_weight(_func: Any, args: Any, _kwargs: Any) -> Any:
    """One buffer for all weights of a recurrent layer; the weights become views of it."""
    weights = args[0]
    flat = weights[0].new_empty((_weight_numel(weights),))
    start = 0
    for weight in weights:
        weight.data = flat[start : start + weight.numel()].view(weight.shape)
        start += weight.numel()
    return flat


def _cudnn_rnn(_func: Any, args: Any, _kwargs: Any) -> Any:
    """cuDNN's recurrent layers: output, final states, the space kept for the backward pass, flat weights."""
    given = _rnn_arguments(args)
    inputs, weight_buffer = args[0], args[3]
    steps, batch = _steps_and_batch(given, inputs)
    directions = 2 if given["bidirectional"] else 1
    width = given["proj_size"] or given["hidden_size"]
    if given["batch_sizes"]:
        output = inputs.new_empty((inputs.shape[0], width * directions))
    else:
        output = inputs.new_empty((steps, batch, width * directions))  # in this order, whatever the caller's
        output = output.transpose(0, 1) if given["batch_first"] else output
    states = (given["num_layers"] * directions, batch)
    hidden = args[4].new_empty((*states, width))
    is_lstm = args[5] is not None
    cell = args[5].new_empty((*states, given["hidden_size"])) if is_lstm else inputs.new_empty((0,))
    reserve = inputs.new_empty(
        (_reserve_bytes(given, inputs, steps, batch) if given["train"] else 0,), dtype=torch.uint8
    )
    weights = weight_buffer if weight_buffer is not None else inputs.new_empty((_weight_numel(args[1]),))
    return output, hidden, cell, reserve, weights


def _cudnn_rnn_backward(_func: Any, args: Any, _kwargs: Any) -> Any:
    """Gradients of the input, the initial states and every weight."""
    inputs, weights, hidden, cell = args[0], args[1], args[4], args[5]
    mask = args[21]
    gradients: list[Any] = []
    if mask[3]:
        flat = inputs.new_empty((_weight_numel(weights),))
        start = 0
        for weight in weights:
            gradients.append(flat[start : start + weight.numel()].view(weight.shape))
            start += weight.numel()
    else:
        gradients = [None] * len(weights)
    gradient = inputs.new_empty(inputs.shape) if mask[0] else None
    if gradient is not None and _rnn_arguments(args)["batch_first"]:
        gradient = inputs.new_empty((inputs.shape[1], inputs.shape[0], inputs.shape[2])).transpose(0, 1)
    return (
        gradient,
        hidden.new_empty(hidden.shape) if mask[1] else None,
        cell.new_empty(cell.shape) if cell is not None and mask[2] else None,
        gradients,
    )


def _rnn_arguments(args: Any) -> dict[str, Any]:
    names = (
        "input", "weight", "weight_stride0", "weight_buf", "hx", "cx", "mode", "hidden_size", "proj_size",
        "num_layers", "batch_first", "dropout", "train", "bidirectional", "batch_sizes", "dropout_state",
    )  # fmt: skip
    return dict(zip(names, args, strict=False))


def _steps_and_batch(given: dict[str, Any], inputs: Any) -> Any:
    if given["batch_sizes"]:
        return len(given["batch_sizes"]), given["batch_sizes"][0]
    return (inputs.shape[1], inputs.shape[0]) if given["batch_first"] else (inputs.shape[0], inputs.shape[1])


def _weight_numel(weights: Any) -> int:
    return sum(int(weight.numel()) for weight in weights)


def _reserve_bytes(given: dict[str, Any], inputs: Any, steps: int, batch: int) -> int:
    """Space cuDNN keeps between the passes: gates and states of every step, layer and direction.

    Per unit of hidden size 5 values for LSTM (mode 2), 6 for GRU (3), 1 for plain layers, one more between layers, and
    256 bytes; dropout between layers keeps one bit per value a layer reads. Exact on 112 layers measured on an H200
    (cuDNN 9.19): three kinds, one to three layers, one and both directions, three dtypes.
    """
    layers, directions = given["num_layers"], 2 if given["bidirectional"] else 1
    values = steps * batch * given["hidden_size"] * directions
    kept = values * (layers * {2: 5, 3: 6}.get(given["mode"], 1) + layers - 1)
    masks = values * directions * (layers - 1) // 8 if given["dropout"] else 0
    return int(kept * inputs.element_size() + masks + 256)
