"""Functions that TorchScript compiles: run operation by operation, never as kernels it would make on the device.

From its second call on, a scripted function's pointwise operations are fused into a kernel that the CUDA driver
compiles, which a GPU that only pretends cannot do. The same operations one by one hold what the kernel's inputs and
outputs hold, and their results in between, which live as briefly.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch


@contextlib.contextmanager
def disguise() -> Iterator[None]:
    """Turn the fuser off."""
    was_on = torch._C._jit_texpr_fuser_enabled()
    torch._C._jit_set_texpr_fuser_enabled(False)
    try:
        yield
    finally:
        torch._C._jit_set_texpr_fuser_enabled(was_on)
