"""What autograd writes in place, and would not write in place under fake tensors.

Where several gradients flow into one tensor, the engine adds them up. It writes into the first when nobody else
holds it (`can_accumulate_inplace` of torch/csrc/autograd/input_buffer.cpp), which saves one block of memory per sum;
but never where a tensor is a subclass, as every fake tensor is. What the engine would do with real tensors is
restated here: gradients are not recorded, the tensor is dense, and neither it nor its storage has another owner. The
gradient a nested backward pass begins with, as recomputation of the reentrant kind does, is held by its caller.

The gradients of indexing, gathering and selecting (`index_backward`, `gather_backward`,
`value_selecting_reduction_backward`, `index_select_backward`) are the same story: zeros are made and written into,
but written into a copy where a tensor is a subclass. They are known by the zeros, made just before.
"""

from __future__ import annotations

import functools
import sys
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

_aten = torch.ops.aten
SUM = _aten.add.Tensor
_SCATTERED = {
    _aten.index_put.default: _aten.index_put_.default,
    _aten.scatter_add.default: _aten.scatter_add_.default,
    _aten.scatter.src: _aten.scatter_.src,
    _aten.index_add.default: _aten.index_add_.default,
}
"""How autograd writes gradients to their places: with subclasses, and with plain tensors."""
_ZEROS = (_aten.new_zeros.default, _aten.zeros.default, _aten.zeros_like.default)
IN_PLACE = {SUM: _aten.add_.Tensor, **_SCATTERED}

_engine_task = torch._C._current_graph_task_id
_owners = torch._C._storage_Use_Count
_ENGINE_CALLER = "_engine_run_backward"
"""The function of torch/autograd/graph.py that calls the engine: the nearest Python frame of a nested backward."""

_WRAPPERS = ("torch/_compile.py", "torch/_dynamo/eval_frame.py")
"""Files of the functions torch puts around every dispatch mode, so that it is not compiled."""


def done_by(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], previous: Any) -> Any:
    """The operation a real device would see after `previous`: in place, where autograd would do it so."""
    if func is SUM:
        return IN_PLACE[func] if is_in_place(args, kwargs, depth=3) else func
    return IN_PLACE[func] if previous in _ZEROS and _is_scattered(args, depth=3) else func


def _is_scattered(args: tuple[Any, ...], depth: int) -> bool:
    """Whether autograd itself, in C++, writes a gradient into what nobody else holds."""
    if _engine_task() == -1 or not args or type(args[0]) is not FakeTensor:
        return False
    return _asked_by_engine(depth) and bool(_owners(args[0].untyped_storage()._cdata) == 2)


def is_in_place(args: tuple[Any, ...], kwargs: dict[str, Any], depth: int = 2) -> bool:
    """Whether this sum is the engine's own, and one it would make in place on a real device.

    `depth` is how many frames lie between the engine and this function.
    """
    if kwargs or len(args) != 2 or _engine_task() == -1 or torch.is_grad_enabled():
        return False
    held, new = args
    if type(held) is not FakeTensor or type(new) is not FakeTensor or held.dtype != new.dtype:
        return False
    if held.shape != new.shape or not _asked_by_engine(depth) or not _is_dense(held):
        return False
    storage = held.untyped_storage()
    if _owners(storage._cdata) != 2:  # the tensor's own, and the one just taken to look
        return False
    return bool(held._use_count() <= uses_of_an_unshared_gradient())


@functools.lru_cache(maxsize=1)
def uses_of_an_unshared_gradient() -> int:
    """How often a gradient counts as used when it arrives at a dispatch mode and nobody but the engine holds it.

    Found by trying, because versions of torch hand it over in different ways; must first be called outside any mode.
    """
    counting = _Counting()
    with FakeTensorMode(), counting:
        given = torch.ones(2, requires_grad=True) * 2
        (given.sin() + given.cos()).sum().backward()
    return counting.uses


class _Counting(TorchDispatchMode):  # type: ignore[misc]
    """Looks at the first of the engine's own sums."""

    uses = sys.maxsize

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        del types
        if func is SUM and _engine_task() != -1:
            self.uses = args[0]._use_count()
        return func(*args, **(kwargs or {}))


def _asked_by_engine(depth: int) -> bool:
    """Whether no Python of a backward function stands between the engine and the sum."""
    caller = sys._getframe(depth).f_back
    while caller is not None and caller.f_code.co_filename.endswith(_WRAPPERS):
        caller = caller.f_back
    return caller is None or caller.f_code.co_name == _ENGINE_CALLER


def _is_dense(tensor: torch.Tensor) -> bool:
    """Whether the elements fill their storage without gaps or overlaps, in whatever order."""
    expected = 1
    for stride, size in sorted(zip(tensor.stride(), tensor.shape, strict=True)):
        if size == 1:
            continue
        if stride != expected:
            return False
        expected *= size
    return True
