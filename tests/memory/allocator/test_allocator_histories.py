"""The model against the real allocator: event streams recorded on a GPU, replayed, must end at the same peaks.

`accuracy/histories/*.json.gz` hold what `torch.cuda.memory._record_memory_history` saw of real runs: every
allocation and free in order, with the peak of reserved memory that the real allocator reported. Workspaces,
temporaries and libraries are in the stream, so nothing but the allocator's own rules is tested here.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from tonnage.memory.allocator import CachingAllocator, OutOfMemoryError, read_settings
from tonnage.memory.allocator.blocks import Block

HISTORIES = sorted((Path(__file__).parents[3] / "accuracy" / "histories").glob("*.json.gz"))


def test_there_are_histories_to_replay():
    assert HISTORIES


@pytest.mark.parametrize("path", HISTORIES, ids=lambda path: path.name.removesuffix(".json.gz"))
def test_a_recorded_history_ends_at_the_same_peaks(path: Path):
    history = json.loads(gzip.decompress(path.read_bytes()))
    allocator = CachingAllocator(read_settings(history.get("settings", {})), limit=history.get("limit"))
    replay(allocator, history["events"] if "events" in history else told(history["history"]))
    assert allocator.peak_reserved == history["peak_reserved"]
    if "peak_allocated" in history:
        assert allocator.peak_allocated == history["peak_allocated"]
    if "retries" in history:
        assert allocator.retries == history["retries"]


def told(history: list[list[int]]) -> list[list[object]]:
    """The short form: [size] or [size, stream] makes the next block, [-number] frees one, [0, ...] is a segment."""
    events: list[list[object]] = []
    made = 0
    for first, *rest in history:
        if first > 0:
            made += 1
            events.append(["alloc", made, first, rest[0] if rest else 0])
        elif first < 0:
            events += [["free_requested", -first, 0, 0], ["free_completed", -first, 0, 0]]
    return events


def replay(allocator: CachingAllocator, events: list[list[object]]) -> None:
    """Take and free as recorded; a free that completes later than it was asked for waits.

    Where the real run ran out of memory, so must the model.
    """
    blocks: dict[object, Block] = {}
    asked: dict[object, Block] = {}
    following = [event[0] for event in events[1:]] + [""]
    for (action, address, size, stream), after in zip(events, following, strict=True):
        if action == "alloc":
            block = allocator.malloc(int(str(size)), int(str(stream)))
            assert block is not None
            blocks[address] = block
        elif action == "oom":
            with pytest.raises(OutOfMemoryError):
                allocator.malloc(int(str(size)), int(str(stream)))
        elif address not in blocks and address not in asked:
            continue  # a segment's own event, or a block made before recording began
        elif action == "free_requested" and after == "free_completed":
            allocator.free(blocks.pop(address))
        elif action == "free_requested":
            asked[address] = blocks.pop(address)
            allocator.free_when_done(asked[address])
        elif action == "free_completed" and address in asked:
            allocator.finish(asked.pop(address))
