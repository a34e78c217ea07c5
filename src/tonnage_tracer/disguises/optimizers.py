"""Optimizers choose their multi-tensor kernels by `type(parameter)`: fake parameters must count as plain ones.

On a real device AdamW, SGD and the others take the foreach path by default, gradient clipping too; its lists of
temporaries are often the peak of a step. An explicit `foreach=False` or `fused=True` is honoured as it stands.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from torch._subclasses.fake_tensor import FakeTensor
from torch.optim.optimizer import _foreach_supported_types as _of_optimizers
from torch.utils._foreach_utils import _foreach_supported_types as _of_utilities


@contextlib.contextmanager
def disguise() -> Iterator[None]:
    """Let fake tensors through the tests for plain ones."""
    lists: list[list[Any]] = [_of_optimizers, _of_utilities]
    extended = [each for each in lists if FakeTensor not in each]
    for each in extended:
        each.append(FakeTensor)
    try:
        yield
    finally:
        for each in extended:
            each.remove(FakeTensor)
