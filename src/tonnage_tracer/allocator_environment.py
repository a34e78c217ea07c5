"""What the environment tells torch's allocator, at the moment torch hears it.

Torch reads `PYTORCH_CUDA_ALLOC_CONF` once, while it is imported: a file that sets it first is heard, one that sets it
later is not (seen on an H200: a step that asked for growing segments inside its build function got none). Here torch
is imported long before the user's file, so the environment is looked at when that file, or a library it loads, first
asks for torch.
"""

from __future__ import annotations

import builtins
import contextlib
import os
from collections.abc import Iterator
from typing import Any

NAMES = ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF")

_heard: dict[str, str] | None = None


def heard() -> dict[str, str]:
    """The allocator's settings as torch would have read them; as they are now where no file was loaded."""
    return _now() if _heard is None else dict(_heard)


@contextlib.contextmanager
def listening() -> Iterator[None]:
    """While a file is loaded: note the environment when torch is first asked for, at the latest when it is loaded."""
    global _heard  # noqa: PLW0603  one process loads one file
    _heard, original = None, builtins.__import__

    def imported(name: str, *args: Any, **kwargs: Any) -> Any:
        global _heard  # noqa: PLW0603
        if _heard is None and name.partition(".")[0] == "torch":
            _heard = _now()
        return original(name, *args, **kwargs)

    builtins.__import__ = imported
    try:
        yield
    finally:
        builtins.__import__ = original
        if _heard is None:
            _heard = _now()


def _now() -> dict[str, str]:
    return {name: os.environ[name] for name in NAMES if name in os.environ}
