"""GPU memory as the allocator sees it: storages that appear, and the exact moment each is dropped.

A tensor is a view; what occupies memory is its storage. A storage is followed by a weak reference, so its end is
noted where Python or autograd drops the last tensor on it, between the right two operations. That order decides
how the caching allocator will fragment.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

BEGIN, MAKE, FREE, END, MARK, EMPTY_CACHE = range(6)
KINDS = "cafemr"
"""The letters of the trace format, by event number."""

ROUNDING = 512
"""Bytes the allocator rounds to; only for answering `torch.cuda.memory_allocated()`."""


class Blocks:
    """Every storage on the GPU since recording began, and the events that made and freed them."""

    def __init__(self) -> None:
        self.events: list[int] = []
        """One number per event: argument * 8 + kind, so that one append is one event, whatever the thread."""
        self.sizes: list[int] = []
        self.calls: list[int] = []
        self.streams: list[int] = []
        self.phases: list[int] = []
        self.live: dict[int, tuple[Any, int]] = {}
        """Storage address -> (weak reference, block)."""
        self.bytes_live = 0
        self.bytes_peak = 0
        self.shared: set[int] = set()
        """Blocks another stream works on as well: dropped, they wait until the host has waited for the GPU."""
        self._waiting: list[int] = []

    def event(self, kind: int, argument: int) -> None:
        """Note an event."""
        self.events.append(argument << 3 | kind)

    def made(self, storage: Any, call: int, stream: int, phase: int) -> int:
        """Note a storage if it is new; its block, or -1 where it takes no memory."""
        address = storage._cdata
        known = self.live.get(address)
        if known is not None:
            return known[1]
        size = storage.nbytes()
        if size == 0:
            return -1
        block = self._append(size, call, stream, phase)
        self.live[address] = (weakref.ref(storage, self._when_freed(address, block)), block)
        return block

    def of(self, tensor: Any) -> int:
        """The block a tensor lives in, -1 where it has none."""
        try:
            known = self.live.get(tensor.untyped_storage()._cdata)
        except (NotImplementedError, RuntimeError):
            return -1  # a wrapper without storage: a functorch level, a sparse tensor
        return -1 if known is None else known[1]

    def resized(self, storage: Any, call: int, stream: int, phase: int) -> None:
        """A storage changed its size in place: the allocator frees the old bytes and hands out new ones."""
        address = storage._cdata
        known = self.live.get(address)
        if known is not None and self.sizes[known[1]] == storage.nbytes():
            return
        if known is not None:
            del self.live[address]
            self._freed(known[1])
        self.made(storage, call, stream, phase)

    def without_storage(self, size: int, call: int, stream: int, phase: int) -> int:
        """Note memory that no tensor shows: library buffers; freed by `drop`."""
        return self._append(size, call, stream, phase)

    def drop(self, block: int) -> None:
        """Free memory noted by `without_storage`."""
        self._freed(block)

    def live_blocks(self) -> list[int]:
        """Blocks in use now that belong to a storage."""
        return [block for _, block in list(self.live.values())]

    def synchronized(self) -> None:
        """The host has waited for the GPU: what was dropped while another stream worked on it is free now."""
        waiting, self._waiting = self._waiting, []
        for block in waiting:
            self._freed(block)

    def _append(self, size: int, call: int, stream: int, phase: int) -> int:
        block = len(self.sizes)
        self.sizes.append(size)
        self.calls.append(call)
        self.streams.append(stream)
        self.phases.append(phase)
        self.events.append(block << 3 | MAKE)
        self.bytes_live += _rounded(size)
        self.bytes_peak = max(self.bytes_peak, self.bytes_live)
        return block

    def _when_freed(self, address: int, block: int) -> Callable[[Any], None]:
        def forget(reference: Any) -> None:
            known = self.live.get(address)
            if known is not None and known[0] is reference:
                del self.live[address]
                self._freed(block)

        return forget

    def _freed(self, block: int) -> None:
        if block in self.shared:
            self.shared.discard(block)
            self._waiting.append(block)
            return
        self.events.append(block << 3 | FREE)
        self.bytes_live -= _rounded(self.sizes[block])


def _rounded(size: int) -> int:
    return -(-size // ROUNDING) * ROUNDING
