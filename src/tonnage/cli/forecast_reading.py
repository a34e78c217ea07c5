"""Reads a series from a file or standard input: columns `time` and `bytes`, and `phase` where there is one.

What people export is rarely clean. Rows out of order are sorted, of several rows of one time the highest counts
(limits are met by the highest), rows without a value are left out; each is said in a note. What has no meaning (text,
negative or endless numbers) is a mistake with its line, and all are reported at once.
"""

from __future__ import annotations

import csv
import gzip
import sys
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from tonnage.errors import DocumentError, EnvironmentProblem, Problem, UsageError
from tonnage.figures import plural
from tonnage.memory.series import Point
from tonnage.units import QuantityError, parse_quantity

EXPECTED = "columns time and bytes, in seconds and bytes, and phase where known"
GZIP = b"\x1f\x8b"
SHOWN = 5
MOST = 1e18
"""An exabyte, or thirty billion years: more is a slip, and would drown every sum."""
MISSING = frozenset({"", "nan", "null", "none", "na", "n/a"})


@dataclass(frozen=True)
class Read:
    """A series in order of time."""

    name: str
    points: list[Point]
    phases: list[str]
    """One for each point; empty where the file has none."""
    notes: tuple[str, ...]


def read_limit(text: str) -> int:
    """The limit in bytes."""
    try:
        size = parse_quantity(text).value()
    except QuantityError as error:
        raise UsageError(
            Problem(
                code="FCT-001",
                what="--limit is not a quantity",
                found=text,
                expected="bytes like 64Gi, 512Mi or 8G",
            )
        ) from error
    if size <= 0:
        raise UsageError(
            Problem(
                code="FCT-001", what="--limit must be more than nothing", found=text, expected="like 64Gi"
            )
        )
    return size


def read_series(path: str) -> Read:
    """The series in a file, or on standard input for `-`."""
    name = "standard input" if path == "-" else path
    rows = csv.reader(_text(path, name).splitlines())
    try:
        return _read(rows, name)
    except csv.Error as error:
        raise DocumentError(
            Problem(code="FCT-003", what=f"not a CSV file: {error}", where=name, expected=EXPECTED)
        ) from error


def _text(path: str, name: str) -> str:
    try:
        data = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    except OSError as error:
        raise EnvironmentProblem(
            Problem(code="FCT-002", what=f"cannot be read: {error.strerror or error}", where=name)
        ) from error
    try:
        return (gzip.decompress(data) if data.startswith(GZIP) else data).decode("utf-8-sig")
    except (OSError, EOFError, zlib.error) as error:
        raise DocumentError(
            Problem(code="FCT-003", what=f"a gzip file that is not whole: {error}", where=name)
        ) from error
    except UnicodeDecodeError as error:
        raise DocumentError(
            Problem(code="FCT-003", what="not a text file", where=name, expected=f"a CSV with {EXPECTED}")
        ) from error


def _read(rows: Iterator[list[str]], name: str) -> Read:
    header = next((row for row in rows if any(cell.strip() for cell in row)), None)
    if header is None:
        raise DocumentError(Problem(code="FCT-004", what="the file is empty", where=name, expected=EXPECTED))
    time, size, phase = _columns(header, name)
    found: list[tuple[float, float, str]] = []
    wrong: list[Problem] = []
    empty = mistakes = 0
    last = max(time, size)
    for line, row in enumerate(rows, 2):
        if not row:
            continue
        if len(row) <= last or row[size].strip().lower() in MISSING or row[time].strip().lower() in MISSING:
            empty += 1
            continue
        seconds, value = _number(row[time]), _number(row[size])
        if seconds is not None and value is not None and value >= 0:
            found.append((seconds, value, row[phase].strip() if 0 <= phase < len(row) else ""))
            continue
        mistakes += 1
        if len(wrong) < SHOWN:
            wrong.append(_mistake(f"{name}:{line}", row[time], row[size], seconds, value))
    if wrong:
        raise DocumentError(*wrong, *_further(mistakes - len(wrong), name))
    if not found:
        raise DocumentError(
            Problem(code="FCT-004", what="no row has a time and a value", where=name, expected=EXPECTED)
        )
    return _in_order(found, name, empty, has_phase=phase >= 0)


def _columns(header: Sequence[str], name: str) -> tuple[int, int, int]:
    names = [cell.strip().lower() for cell in header]
    if "time" not in names or "bytes" not in names:
        raise DocumentError(
            Problem(
                code="FCT-005",
                what="the first line does not name the columns",
                where=f"{name}:1",
                found=",".join(header)[:60],
                expected=EXPECTED,
                hint="write time,bytes as the first line",
            )
        )
    return names.index("time"), names.index("bytes"), names.index("phase") if "phase" in names else -1


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if abs(value) <= MOST else None  # not a number is not below anything


def _mistake(where: str, time: str, size: str, seconds: float | None, value: float | None) -> Problem:
    if seconds is None:
        return Problem(
            code="FCT-006",
            what="time is not a number of seconds",
            where=where,
            found=time[:40],
            expected="seconds, like 1662858720 or 57.0",
        )
    what = "bytes is negative" if value is not None else "bytes is not a number, or more than any machine has"
    return Problem(code="FCT-007", what=what, where=where, found=size[:40], expected="bytes, 0 or more")


def _further(count: int, name: str) -> list[Problem]:
    if count <= 0:
        return []
    return [Problem(code="FCT-007", what=f"and {plural(count, 'more row')} like these", where=name)]


def _in_order(found: list[tuple[float, float, str]], name: str, empty: int, *, has_phase: bool) -> Read:
    notes = []
    if empty:
        notes.append(f"{plural(empty, 'row')} without a value left out")
    if any(later[0] < earlier[0] for earlier, later in pairwise(found)):
        found.sort(key=lambda row: row[0])
        notes.append("rows sorted by time")
    highest: dict[float, tuple[float, float, str]] = {}
    for row in found:
        known = highest.get(row[0])
        if known is None or row[1] > known[1]:
            highest[row[0]] = row
    if len(highest) < len(found):
        notes.append(f"{plural(len(found) - len(highest), 'row')} of a time seen before: the highest counts")
    rows = list(highest.values())
    points = [Point(seconds, value) for seconds, value, _ in rows]
    return Read(name, points, [row[2] for row in rows] if has_phase else [], tuple(notes))
