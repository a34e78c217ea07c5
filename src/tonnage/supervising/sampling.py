"""What the agents measured goes into the history, a chunk at a time."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable

from tonnage.memory.series import Point
from tonnage.running.port import RunPlace
from tonnage.store.store import Store
from tonnage_agent.telemetry import Sample

METRICS: dict[str, Callable[[Sample], int | None]] = {
    "memory": lambda sample: sample.usage_bytes,
    "working_set": lambda sample: sample.working_set_bytes,
    "anon": lambda sample: sample.anon_bytes,
    "gpu_memory": lambda sample: sample.gpu_used_bytes,
    "gpu_activity": lambda sample: sample.gpu_activity,
}
"""Series of the history, and where a sample has them."""
MOST_NODES = 1024
CHUNK_SECONDS = 5.0
"""How much is written at once: a row for every sample would cost a hundred times more."""
JUDGED, JUDGED_SECONDS = "working_set", 6 * 3600.0
"""What growth is judged by (page cache that can be given back is no growth), and how far back."""


def keep_samples(store: Store, place: RunPlace, run: int, attempt: int) -> None:
    """Write what is new, as one chunk."""
    last: dict[int, float] = {}
    for node in range(MOST_NODES):
        when = store.samples.last(run, attempt, node, "memory")
        if when is None:
            break
        last[node] = when
    by_node: dict[int, list[Sample]] = {}
    for node, sample in place.samples(attempt, last):
        by_node.setdefault(node, []).append(sample)
    for node, samples in by_node.items():
        for metric, reading in METRICS.items():
            found = [(one.when, value) for one in samples if (value := reading(one)) is not None]
            store.samples.add(run, attempt, node, metric, found)


def kept_series(store: Store, run: int, attempt: int, now: dt.datetime) -> dict[int, list[Point]]:
    """The memory of each node before the end of an attempt."""
    found: dict[int, list[Point]] = {}
    since = now.timestamp() - JUDGED_SECONDS
    for node in range(MOST_NODES):
        readings = store.samples.series(run, attempt, node, JUDGED, after=since)
        if not readings:
            break
        found[node] = [Point(when, held) for when, held in readings]
    return found
