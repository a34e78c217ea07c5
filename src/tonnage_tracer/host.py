"""Work on the CPU is really done, where it is small.

Training scripts compute on the CPU what decides their control flow: learning rates, masks, shuffles, drop rates, a
batch collated by a data loader. Fake tensors would hide those values, so operations whose tensors are all real CPU
tensors simply run. Only large new tensors (a model's weights, made on the CPU and moved later) are faked: filling
them would take longer than the rest of the trace.
"""

from __future__ import annotations

import math
from typing import Any

import torch

MAX_BYTES_WHOLE = 16 << 20
"""New integer and boolean tensors on the CPU up to this size are real: batches, masks, indices."""
MAX_BYTES_REAL = 256 << 10
"""New floating tensors on the CPU up to this size are real: rates, statistics, small tables."""

_WHOLE = frozenset((torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64))


def said_pinned(tensor: Any) -> Any:
    """A tensor whose memory is pinned, to all who ask."""
    tensor.is_said_pinned = True
    return tensor


class Host:
    """Runs operations on real CPU tensors."""

    def __init__(self) -> None:
        self._size_places: dict[Any, int | None] = {}

    def takes(self, func: Any, args: Any, kwargs: Any, has_tensors: bool) -> bool:
        """Whether a call without fake tensors is the CPU's: nothing in it is on another device or too large."""
        device = kwargs.get("device")
        if device is not None and torch.device(device).type != "cpu":
            return False
        return has_tensors or not self._is_large(func, args, kwargs)

    def run(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Run it. Memory stays pageable, whatever it says: pinning would ask a driver that is not there."""
        if not kwargs.get("pin_memory"):
            with torch._C._DisableTorchDispatch():
                return func(*args, **kwargs)
        with torch._C._DisableTorchDispatch():
            return said_pinned(func(*args, **{**kwargs, "pin_memory": False}))

    def _is_large(self, func: Any, args: Any, kwargs: Any) -> bool:
        size = kwargs.get("size")
        if size is None:
            place = self._size_place(func)
            size = args[place] if place is not None and place < len(args) else ()
        dtype = kwargs.get("dtype") or torch.get_default_dtype()
        limit = MAX_BYTES_WHOLE if dtype in _WHOLE else MAX_BYTES_REAL
        return bool(math.prod(size) * dtype.itemsize > limit)

    def _size_place(self, func: Any) -> int | None:
        if func not in self._size_places:
            names = [argument.name for argument in func._schema.arguments]
            self._size_places[func] = names.index("size") if "size" in names else None
        return self._size_places[func]
