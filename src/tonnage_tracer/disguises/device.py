"""Questions to the device that has no memory and no clock: answered from what was recorded so far."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch

from .patching import replaced

SEGMENT = 2 << 20
"""What the allocator asks the device for comes in multiples of this."""


@contextlib.contextmanager
def disguise(recorder: Any) -> Iterator[None]:
    """Answer `torch.cuda`'s questions about memory and time."""
    answers = _answers(recorder)
    with contextlib.ExitStack() as stack:
        for owner in (torch.cuda, torch.cuda.memory):
            stack.enter_context(
                replaced(owner, **{name: each for name, each in answers.items() if hasattr(owner, name)})
            )
        stack.enter_context(replaced(torch.cuda.Event, elapsed_time=lambda _self, _end: 1.0))
        yield


def _answers(recorder: Any) -> dict[str, Any]:
    blocks = recorder.blocks

    def allocated(_device: Any = None) -> int:
        return int(blocks.bytes_live)

    def most_allocated(_device: Any = None) -> int:
        return int(blocks.bytes_peak)

    def reserved(_device: Any = None) -> int:
        return -(-int(blocks.bytes_live) // SEGMENT) * SEGMENT

    def most_reserved(_device: Any = None) -> int:
        return -(-int(blocks.bytes_peak) // SEGMENT) * SEGMENT

    def reset_peak(_device: Any = None) -> None:
        blocks.bytes_peak = blocks.bytes_live

    def information(_device: Any = None) -> Any:
        total = torch.cuda.get_device_properties(0).total_memory
        return max(0, total - reserved()), total

    def statistics(_device: Any = None) -> dict[str, Any]:
        return _Statistics(
            {
                "allocated_bytes.all.current": allocated(),
                "allocated_bytes.all.peak": most_allocated(),
                "active_bytes.all.current": allocated(),
                "active_bytes.all.peak": most_allocated(),
                "reserved_bytes.all.current": reserved(),
                "reserved_bytes.all.peak": most_reserved(),
            }
        )

    def emptied() -> None:
        recorder.emptied_cache()

    def nothing(*_args: Any, **_kwargs: Any) -> None:
        return None

    return {
        "memory_allocated": allocated,
        "max_memory_allocated": most_allocated,
        "memory_reserved": reserved,
        "max_memory_reserved": most_reserved,
        "memory_cached": reserved,
        "max_memory_cached": most_reserved,
        "reset_peak_memory_stats": reset_peak,
        "reset_max_memory_allocated": reset_peak,
        "reset_max_memory_cached": reset_peak,
        "reset_accumulated_memory_stats": nothing,
        "mem_get_info": information,
        "memory_stats": statistics,
        "memory_summary": lambda *_args, **_kwargs: "",
        "memory_snapshot": lambda *_args, **_kwargs: [],
        "_record_memory_history": nothing,
        "_dump_snapshot": nothing,
        "empty_cache": emptied,
        "set_per_process_memory_fraction": nothing,
    }


class _Statistics(dict[str, Any]):
    """Counters nobody recorded are zero."""

    def __missing__(self, _key: str) -> int:
        return 0
