"""Nothing is saved while a step is only pretended: a real checkpoint must not be overwritten by an empty one."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch

from .patching import replaced


@contextlib.contextmanager
def disguise(recorder: Any) -> Iterator[None]:
    """`torch.save` does nothing and says so."""

    def save(*_args: Any, **_kwargs: Any) -> None:
        recorder.notes.add(
            "not-saved", "torch.save was called and wrote nothing, because nothing was computed"
        )

    with replaced(torch, save=save), replaced(torch.serialization, save=save):
        yield
