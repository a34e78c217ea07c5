"""What the dispatcher does not tell about memory: storages resized by hand, and work on several streams.

FSDP frees and fills the storage of a gathered parameter by `storage.resize_`, past the dispatcher. And a block that
a second stream works on (`tensor.record_stream`) is not free when its last tensor goes: the allocator waits until
that stream has got so far. The host runs ahead of the GPU, so in practice that is when the host next waits for it,
at `.item()`, `synchronize()` or the like; at the latest the end of the step is taken.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch

from .disguises.patching import replaced
from .recorder import Recorder


@contextlib.contextmanager
def watching(recorder: Recorder) -> Iterator[None]:
    """Follow storages resized by hand, and streams."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(replaced(torch.UntypedStorage, resize_=_resizing(recorder)))
        stack.enter_context(replaced(torch.Tensor, record_stream=_sharing(recorder)))
        stack.enter_context(replaced(torch.Tensor, item=_waiting(recorder, torch.Tensor.item)))
        for owner in (torch.cuda, torch.cuda.Stream, torch.cuda.Event):
            wait = _waiting(recorder, owner.synchronize)
            stack.enter_context(replaced(owner, synchronize=wait))
        yield


def _resizing(recorder: Recorder) -> Callable[..., Any]:
    resize, blocks = torch.UntypedStorage.resize_, recorder.blocks
    emptied: set[int] = set()
    # A fake storage does not say that it is the GPU's, so those that were, and hold no byte now, are remembered.

    def resize_(storage: Any, size: int) -> Any:
        address = storage._cdata
        is_on_gpu = address in blocks.live or address in emptied
        done = resize(storage, size)
        if is_on_gpu:
            (emptied.discard if size else emptied.add)(address)
            blocks.resized(storage, -1, recorder.stream(), recorder.phases.current)
        return done

    return resize_


def _sharing(recorder: Recorder) -> Callable[..., None]:
    blocks = recorder.blocks

    def record_stream(tensor: Any, stream: Any) -> None:
        block = blocks.of(tensor) if tensor.is_cuda else -1
        if block >= 0 and blocks.streams[block] != recorder.stream_number(stream.stream_id):
            blocks.shared.add(block)

    return record_stream


def _waiting(recorder: Recorder, wait: Callable[..., Any]) -> Callable[..., Any]:
    def synchronize(*args: Any, **kwargs: Any) -> Any:
        done = wait(*args, **kwargs)
        recorder.blocks.synchronized()
        return done

    return synchronize
