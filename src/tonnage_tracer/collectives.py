"""Collectives that take part in nothing: they say what they would move, and hand back what they were given.

`c10d.*` are the calls of `torch.distributed`, DDP and FSDP: they write into tensors that exist and return a handle to
wait on. `_c10d_functional.*` are those of DTensor: they return new tensors, which torch can describe itself.
"""

from __future__ import annotations

from typing import Any

import torch
from torch._C import _distributed_c10d as c10d
from torch._subclasses.fake_tensor import FakeTensor

from .launches import Launches
from .recorder import Recorder

_FLATTENED = frozenset(("allgather_", "reduce_scatter_"))
"""With lists of tensors NCCL works on one flat copy of the list, made for the call."""


class Collectives:
    """Answers and notes collectives."""

    def __init__(self, recorder: Recorder, launches: Launches) -> None:
        self._recorder = recorder
        self._launches = launches

    def run(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """One collective, or waiting for one."""
        name = func._schema.name.partition("::")[2]
        if func.namespace != "c10d":
            out = func(*args, **kwargs)
            if name != "wait_tensor":
                self._note(func, name, _named_group((*args, *kwargs.values())), _tensors(args), _tensors(out))
            return out
        group = _boxed_group((*args, *kwargs.values()))
        given = _tensors(args)
        written = [each for each in _written(func, args) if isinstance(each, torch.Tensor)]
        if given and not any(isinstance(each, FakeTensor) for each in given):
            _agree(name, args)
        else:
            if name in _FLATTENED:
                _flat_copy(args)
            self._note(func, name, group, given, written)
        return _returned(func, args)

    def _note(self, func: Any, name: str, group: Any, given: list[Any], made: list[Any]) -> None:
        if name == "barrier" or not any(each.is_cuda for each in (*given, *made)):
            return
        ranks = tuple(torch.distributed.get_process_group_ranks(group)) if group is not None else ()
        if len(ranks) > 1:
            self._recorder.groups.setdefault(ranks)
        self._launches.launched(str(func), given, made, {"ranks": len(ranks)})


def _agree(name: str, args: Any) -> None:
    """Numbers on the CPU: every other rank says what this one says."""
    with torch._C._DisableTorchDispatch():
        if name in ("allgather_", "_allgather_base_"):
            for received, sent in zip(_tensors(args[0]), _repeated(args[1]), strict=False):
                received.view(-1)[:].copy_(sent.view(-1).repeat(received.numel() // max(1, sent.numel())))


def _repeated(value: Any) -> Any:
    sent = _tensors(value)
    while sent:
        yield sent[0]


def _flat_copy(args: Any) -> None:
    lists = [value for value in args[:2] if isinstance(value, (list, tuple)) and value]
    parts = max((_tensors(value) for value in lists), key=len, default=[])
    if len(parts) > 1 and parts[0].is_cuda:
        size = sum(int(each.numel()) for each in parts)
        torch.empty(size, dtype=parts[0].dtype, device=parts[0].device)


def _returned(func: Any, args: Any) -> Any:
    """What the schema promises: the tensors written to, and a handle of work that is done."""
    given = _written(func, args)
    done: torch.futures.Future[Any] = torch.futures.Future()
    done.set_result([each for each in given if isinstance(each, torch.Tensor)])
    work = c10d._create_work_from_future(done).boxed()
    returns = func._schema.returns
    if len(returns) == 1:
        return work
    return (args[0], work)


def _written(func: Any, args: Any) -> list[Any]:
    """Tensors that a collective writes to."""
    found: list[Any] = []
    for argument, value in zip(func._schema.arguments, args, strict=False):
        if argument.name.startswith("output") or (argument.name in ("tensors", "tensor") and not found):
            found += _tensors(value)
    return found


def _boxed_group(values: Any) -> Any:
    for value in values:
        if isinstance(value, torch.ScriptObject):
            try:
                return c10d.ProcessGroup.unbox(value)
            except (RuntimeError, TypeError):
                continue
    return None


def _named_group(values: Any) -> Any:
    for value in reversed(values):
        if isinstance(value, str):
            try:
                return c10d._resolve_process_group(value)
            except (RuntimeError, ValueError):
                continue
    return None


def _tensors(value: Any) -> list[Any]:
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [tensor for each in value for tensor in _tensors(each)]
    return []
