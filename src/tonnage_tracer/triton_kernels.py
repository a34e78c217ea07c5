"""Triton kernels that a script or a library launches itself: noted, never compiled.

Such a kernel writes into tensors that torch has made, so memory is right without it; compiling it would need the
device. What it reads and writes cannot be told apart from outside, so all its tensors count as read. A kernel that
chooses among configurations by timing them flushes the cache with a buffer for it, once for each kernel.
"""

from __future__ import annotations

import sys
from typing import Any

import torch

from .launches import Launches

FLUSH_BYTES = 256 << 20
"""What Triton writes between two timed runs."""


def stand_in(launches: Launches) -> None:
    """From now on launching a Triton kernel notes it. Nothing is done where no one has imported Triton."""
    runtime, tuning = sys.modules.get("triton.runtime.jit"), sys.modules.get("triton.runtime.autotuner")
    if runtime is None or tuning is None or getattr(runtime.JITFunction.run, "launches", None) is launches:
        return
    timed: set[int] = set()

    def launch(kernel: Any, *args: Any, grid: Any = None, warmup: bool = False, **kwargs: Any) -> None:
        del grid
        tensors = [each for each in (*args, *kwargs.values()) if isinstance(each, torch.Tensor)]
        if not warmup:
            launches.launched(f"triton.{_name(kernel)}", tensors, [], {})

    def choose(tuner: Any, *args: Any, **kwargs: Any) -> Any:
        if len(tuner.configs) > 1 and id(tuner) not in timed:
            timed.add(id(tuner))
            torch.empty(FLUSH_BYTES // 4, dtype=torch.int, device="cuda")
        return tuner.fn.run(*args, **kwargs)

    launch.launches = launches  # type: ignore[attr-defined]
    runtime.JITFunction.run = launch
    tuning.Autotuner.run = choose


def _name(kernel: Any) -> str:
    return str(getattr(getattr(kernel, "fn", None), "__name__", "kernel"))
