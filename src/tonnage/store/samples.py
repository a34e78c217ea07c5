"""Samples of one quantity over time, in chunks: times in milliseconds, readings as whole numbers.

A chunk is written once and never changed, so a crash loses at most what was not yet acknowledged.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from pathlib import Path

import apsw

from tonnage.store.failing import explained
from tonnage.store.opening import transaction


class Samples:
    """The series of all runs."""

    def __init__(self, connection: apsw.Connection, path: Path) -> None:
        self._connection = connection
        self._path = path

    def add(
        self, run: int, attempt: int, node: int, metric: str, readings: Sequence[tuple[float, int]]
    ) -> None:
        """Append readings (seconds since 1970, value), oldest first; those already there are left as they are."""
        if not readings:
            return
        times = array("q", (round(when * 1000) for when, _ in readings))
        values = array("q", (value for _, value in readings))
        with explained(self._path), transaction(self._connection):
            series = self._series(run, attempt, node, metric)
            self._connection.execute(
                "INSERT INTO chunks VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
                (series, times[0], times[-1], len(times), max(values), times.tobytes(), values.tobytes()),
            )

    def series(
        self, run: int, attempt: int, node: int, metric: str, *, after: float = 0.0
    ) -> list[tuple[float, int]]:
        """Readings of one series, oldest first; chunks that end before `after` (seconds since 1970) are not read."""
        found: list[tuple[float, int]] = []
        with explained(self._path):
            rows = self._connection.execute(
                "SELECT times, readings FROM chunks JOIN series ON series.id = chunks.series "
                "WHERE run = ? AND attempt = ? AND node = ? AND metric = ? AND last > ? ORDER BY first",
                (run, attempt, node, metric, round(after * 1000)),
            )
            for times, readings in rows:
                found += zip((t / 1000 for t in _numbers(times)), _numbers(readings), strict=True)
        return found

    def last(self, run: int, attempt: int, node: int, metric: str) -> float | None:
        """Time of the newest reading; None where there is none."""
        with explained(self._path):
            found = self._connection.execute(
                "SELECT max(last) FROM chunks JOIN series ON series.id = chunks.series "
                "WHERE run = ? AND attempt = ? AND node = ? AND metric = ?",
                (run, attempt, node, metric),
            ).get
        return None if found is None else float(str(found)) / 1000

    def peak(self, run: int, attempt: int, node: int, metric: str) -> int | None:
        """The largest reading there ever was, exact."""
        with explained(self._path):
            found = self._connection.execute(
                "SELECT max(peak) FROM chunks JOIN series ON series.id = chunks.series "
                "WHERE run = ? AND attempt = ? AND node = ? AND metric = ?",
                (run, attempt, node, metric),
            ).get
        return None if found is None else int(str(found))

    def _series(self, run: int, attempt: int, node: int, metric: str) -> int:
        self._connection.execute(
            "INSERT INTO series (run, attempt, node, metric) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
            (run, attempt, node, metric),
        )
        found = self._connection.execute(
            "SELECT id FROM series WHERE run = ? AND attempt = ? AND node = ? AND metric = ?",
            (run, attempt, node, metric),
        ).get
        return int(str(found))


def _numbers(blob: bytes) -> array[int]:
    numbers = array("q")
    numbers.frombytes(blob)
    return numbers
