"""Real pods: one CSV of shares of the limit, with a column each for the time, the pod and the value.

Nothing is known of these pods but that none of them was killed for memory. A pod that ends where it began is taken
as a background without a leak; one that ends higher (a warm-up, a new load) is kept apart, since nobody can say
whether it would have gone on growing.
"""

from __future__ import annotations

import csv
import gzip
import statistics
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from foresight.cases import HOUR

LEAST_HOURS = 6.0
NET_GROWTH = 0.03
"""Share of the limit by which the last tenth lies above the first in a pod that has grown."""
FILE = "pod_memory_util.csv*"


@dataclass(frozen=True)
class Pod:
    """One pod's memory as shares of its limit."""

    name: str
    times: tuple[float, ...]
    levels: tuple[float, ...]

    @property
    def has_grown(self) -> bool:
        tenth = max(1, len(self.levels) // 10)
        return statistics.median(self.levels[-tenth:]) - statistics.median(self.levels[:tenth]) > NET_GROWTH


def read_pods(folder: Path) -> list[Pod]:
    """Every pod that was watched long enough, by name."""
    found: defaultdict[str, dict[float, float]] = defaultdict(dict)
    for path in sorted(folder.glob(FILE)):
        for row in _rows(path):
            if row["container_ip"]:
                found[row["container_ip"]][float(row["timestamp_anon"])] = float(row["value"])
    pods = []
    for name, values in sorted(found.items()):
        times = sorted(values)
        if times[-1] - times[0] >= LEAST_HOURS * HOUR:
            pods.append(
                Pod(name, tuple(at - times[0] for at in times), tuple(values[at] for at in times)),
            )
    return pods


def _rows(path: Path) -> Iterator[dict[str, str]]:
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    yield from csv.DictReader(text.decode().splitlines())
