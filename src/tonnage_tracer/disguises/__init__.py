"""Everything that keeps code from noticing that nothing is real.

A step must take the same path it takes on the device, and torch, its libraries and scripts all have branches that
ask "is this a fake tensor?", "how much memory is used?", "is this a plain parameter?". Each file here closes one
family of them. All are put in place for the time of a recording and taken away after it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from . import device, lazy, libraries, loading, optimizers, recurrent, saving, scripting, tensors


@contextlib.contextmanager
def disguised(recorder: Any) -> Iterator[None]:
    """Put all disguises on."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(tensors.disguise(recorder))
        stack.enter_context(optimizers.disguise())
        stack.enter_context(libraries.disguise())
        stack.enter_context(device.disguise(recorder))
        stack.enter_context(loading.disguise())
        stack.enter_context(lazy.disguise())
        stack.enter_context(recurrent.disguise())
        stack.enter_context(saving.disguise(recorder))
        stack.enter_context(scripting.disguise())
        yield
