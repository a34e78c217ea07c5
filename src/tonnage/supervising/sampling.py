"""What the agents measured goes into the history, a chunk at a time."""

from __future__ import annotations

from collections.abc import Callable

from tonnage.running.port import RunPlace
from tonnage.store.store import Store
from tonnage_agent.telemetry import Sample

METRICS: dict[str, Callable[[Sample], int | None]] = {
    "memory": lambda sample: sample.usage_bytes,
    "working_set": lambda sample: sample.working_set_bytes,
    "anon": lambda sample: sample.anon_bytes,
}
"""Series of the history, and where a sample has them."""
CHUNK_SECONDS = 5.0
"""How much is written at once: a row for every sample would cost a hundred times more."""


def keep_samples(store: Store, place: RunPlace, run: int, attempt: int, *, at_end: bool = False) -> None:
    """Write what is new, once enough of it is there (or at the end, all of it)."""
    last: dict[int, float] = {}
    for node in range(64):
        when = store.samples.last(run, attempt, node, "memory")
        if when is None:
            break
        last[node] = when
    by_node: dict[int, list[Sample]] = {}
    for node, sample in place.samples(attempt, last):
        by_node.setdefault(node, []).append(sample)
    for node, samples in by_node.items():
        if not at_end and samples[-1].when - samples[0].when < CHUNK_SECONDS:
            continue
        for metric, reading in METRICS.items():
            found = [(one.when, value) for one in samples if (value := reading(one)) is not None]
            store.samples.add(run, attempt, node, metric, found)
