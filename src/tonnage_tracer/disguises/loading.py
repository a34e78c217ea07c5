"""Data loaders with worker processes: workers do real work, and nothing is pinned.

A worker is a fork of this process in the middle of a recording; it would record, too, and send fake tensors home.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch.utils.data._utils.pin_memory
import torch.utils.data._utils.worker
from torch.utils._python_dispatch import _disable_current_modes

from .patching import replaced

_worker_loop = torch.utils.data._utils.worker._worker_loop


def _plain_worker(*args: Any, **kwargs: Any) -> Any:
    with _disable_current_modes():
        return _worker_loop(*args, **kwargs)


def _as_it_is(data: Any, _device: Any = None) -> Any:
    return data


@contextlib.contextmanager
def disguise() -> Iterator[None]:
    """Let workers be workers."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(replaced(torch.utils.data._utils.worker, _worker_loop=_plain_worker))
        stack.enter_context(replaced(torch.utils.data._utils.pin_memory, pin_memory=_as_it_is))
        yield
