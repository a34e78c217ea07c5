"""Padding of matrix products while a step compiles: the rule's answer, and the memory that timing would take.

The timing takes both matrices, their padded copies, the result, and a buffer as large as the second-level cache. It
happens while the first step compiles, before anything else is held, so it seldom is the peak; but the segments it
leaves behind are where the step's tensors will lie.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import _disable_current_modes

from .padding_rule import STEP, Matrix, is_worth_padding, padded
from .recorder import Recorder


def decider(recorder: Recorder) -> Callable[..., bool]:
    """Stands in for `pad_mm._should_pad`: the rule's answer, and the memory that timing it would take."""
    answers: dict[Any, bool] = {}
    timed: set[Any] = set()

    def should_pad(match: Any, first: Any, second: Any, operation: Any, added: Any = None) -> bool:
        from torch._inductor.fx_passes import pad_mm

        if operation not in (torch.ops.aten.mm, torch.ops.aten.addmm, torch.ops.aten.bmm):
            return False
        if torch._inductor.config.force_shape_pad:
            return True
        rows, inner, columns = (_known(side) for side in (*first.shape[-2:], second.shape[-1]))
        if not pad_mm.is_mm_compute_bound(rows, inner, columns, first.dtype):
            return False
        factors = (_matrix(match, "mat1", first), _matrix(match, "mat2", second))
        batch = _known(first.shape[0]) if first.dim() == 3 else 1
        product = (_laid(first), _laid(second), str(operation))
        key = (*product, *factors)
        if key not in answers:
            answers[key] = is_worth_padding(
                *factors,
                item_bytes=first.dtype.itemsize,
                on_tensor_cores=_is_on_tensor_cores(first.dtype),
                batch=batch,
                bias=added is not None,
            )
            with contextlib.suppress(Exception):  # a refinement: the step's own memory does not depend on it
                _rehearse_timing(recorder, factors, product, added, is_plain_known=product in timed)
            timed.add(product)
        return answers[key]

    return should_pad


def _matrix(match: Any, name: str, tensor: Any) -> Matrix:
    from torch._inductor.fx_passes import pad_mm

    rows, columns = (_known(side) for side in tensor.shape[-2:])
    is_turned = _known(tensor.stride()[-1]) != 1 and columns > 1
    return Matrix(rows, columns, is_turned, bool(pad_mm.should_exclude_padding_time(match, name)))


def _is_on_tensor_cores(dtype: torch.dtype) -> bool:
    if dtype is torch.float32:
        return bool(torch.backends.cuda.matmul.allow_tf32)
    return dtype in (torch.float16, torch.bfloat16)


def _known(side: Any) -> int:
    """A side as a number; one that varies counts as what it was first."""
    return int(side) if isinstance(side, int) else int(side.node.hint)


def _laid(tensor: Any) -> tuple[Any, ...]:
    return (
        tuple(_known(side) for side in tensor.shape),
        tuple(_known(step) for step in tensor.stride()),
        tensor.dtype,
    )


def _rehearse_timing(
    recorder: Recorder, factors: tuple[Matrix, Matrix], product: Any, added: Any, *, is_plain_known: bool
) -> None:
    """Take and return what torch takes while it times both ways, in its order."""
    (sizes, steps, dtype), (other_sizes, other_steps, _), name = product
    step = STEP.get(dtype.itemsize, 1)

    def multiplied(left: torch.Tensor, right: torch.Tensor, bias: torch.Tensor | None) -> None:
        if bias is not None:
            torch.addmm(bias, left, right)
        else:
            (torch.bmm if "bmm" in name else torch.mm)(left, right)

    def enlarged(matrix: Matrix, tensor: torch.Tensor, is_now: bool) -> torch.Tensor:
        if not is_now or not matrix.is_padded(step):
            return tensor
        *before, rows, columns = tensor.shape
        return torch.empty(*before, padded(rows, step), padded(columns, step), dtype=dtype, device="cuda")

    def timed(run: Callable[[], None]) -> None:
        run()
        cache_bytes = torch.cuda.get_device_properties(0).L2_cache_size
        flush = torch.empty(cache_bytes // 4, dtype=torch.int, device="cuda")
        run()
        del flush

    with _disable_current_modes(), recorder.mode, recorder, recorder.phases.compiling():
        left = torch.empty_strided(sizes, steps, dtype=dtype, device="cuda")
        right = torch.empty_strided(other_sizes, other_steps, dtype=dtype, device="cuda")
        bias = None
        if added is not None:
            bias = torch.empty([_known(side) for side in added.shape], dtype=added.dtype, device="cuda")
        early = [
            enlarged(matrix, tensor, matrix.is_made_padded)
            for matrix, tensor in zip(factors, (left, right), strict=True)
        ]

        def padded_product() -> None:
            both = [
                enlarged(matrix, tensor, not matrix.is_made_padded)
                for matrix, tensor in zip(factors, early, strict=True)
            ]
            wide = None
            if bias is not None:
                wide = (
                    torch.empty(both[1].shape[-1], dtype=bias.dtype, device="cuda")
                    if bias.dim() == 1
                    else bias
                )
            multiplied(both[0], both[1], wide)

        if not is_plain_known:
            timed(lambda: multiplied(left, right, bias))
        timed(padded_product)
