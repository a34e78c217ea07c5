"""A CSV of past runs -> tasks, or every mistake in it with its line.

Columns are found by name, in any order, and others are ignored, so that an export from any accounting works once its
columns are renamed. A row that says something impossible is never skipped: a back-test that silently leaves out rows it
does not understand says nothing about the history it was given.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Iterator

from tonnage.errors import DocumentError, Problem
from tonnage.figures import plural
from tonnage.sizing.task import Task

COLUMNS = ("signature", "start", "end", "requested_bytes", "peak_bytes")
MOST_TOLD = 10


def read_tasks(lines: Iterable[str], name: str) -> list[Task]:
    """The tasks of a CSV; raises with its mistakes, the first ten of them in full."""
    rows = csv.reader(lines, strict=True)
    tasks: list[Task] = []
    problems: list[Problem] = []
    num_wrong = 0
    names: dict[str, str] = {}
    try:
        places = _places(next(rows, []), name)
        for row in rows:
            if not row:
                continue
            found = list(_mistakes(row, places, f"{name}:{rows.line_num}"))
            if found:
                num_wrong += 1
                problems += found[: MOST_TOLD - len(problems)]
                continue
            signature, start, end, requested, peak = (row[place] for place in places)
            kept = names.setdefault(signature, signature)
            tasks.append(Task(kept, float(start), float(end), float(requested), float(peak)))
    except csv.Error as error:
        raise DocumentError(_not_csv(f"{name}:{rows.line_num}", str(error))) from None
    if problems:
        raise DocumentError(*problems, *_left_out(num_wrong, problems, name))
    if not tasks:
        raise DocumentError(
            Problem(
                code="SIZE-003",
                what="there is no run in it",
                where=name,
                found="a header and nothing else",
                expected="one row for each run that ended",
            )
        )
    return tasks


def _places(header: list[str], name: str) -> list[int]:
    """Where each column stands; raises when one is missing or stands twice."""
    said = [cell.strip().lstrip("\ufeff") for cell in header]
    missing = [column for column in COLUMNS if column not in said]
    if missing:
        raise DocumentError(
            Problem(
                code="SIZE-001",
                what=f"{'columns' if len(missing) > 1 else 'column'} {', '.join(missing)} not found",
                where=f"{name}:1",
                found=_header_text(said),
                expected=",".join(COLUMNS),
                hint="the first line names the columns, separated by commas; their order is free",
            )
        )
    twice = sorted({column for column in COLUMNS if said.count(column) > 1})
    if twice:
        what = f"column {', '.join(twice)} stands in it more than once"
        raise DocumentError(Problem(code="SIZE-001", what=what, where=f"{name}:1", found=_header_text(said)))
    return [said.index(column) for column in COLUMNS]


def _header_text(said: list[str]) -> str:
    text = ",".join(said)
    return "an empty file" if not text else text if len(text) <= 120 else f"{text[:119]}…"


def _mistakes(row: list[str], places: list[int], where: str) -> Iterator[Problem]:
    """What is wrong with one row."""
    if len(row) <= max(places):
        found, expected = plural(len(row), "cell"), f"at least {max(places) + 1}"
        yield Problem(code="SIZE-002", what="a row is too short", where=where, found=found, expected=expected)
        return
    numbers: dict[str, float] = {}
    for column, place in zip(COLUMNS[1:], places[1:], strict=True):
        number = _number(row[place])
        if number is None:
            expected = "seconds" if column in ("start", "end") else "a number of bytes"
            yield _wrong(where, f"{column} is not a number", row[place], expected)
        else:
            numbers[column] = number
    if not row[places[0]].strip():
        yield _wrong(where, "signature is empty", row[places[0]], "what this run is one of")
    if "start" in numbers and "end" in numbers and numbers["end"] < numbers["start"]:
        yield _wrong(
            where, "the run ends before it starts", row[places[2]], f"end at or after {row[places[1]]}"
        )
    for column in ("requested_bytes", "peak_bytes"):
        if column in numbers and numbers[column] <= 0:
            yield _wrong(
                where, f"{column} is not positive", row[places[COLUMNS.index(column)]], "more than 0"
            )


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _wrong(where: str, what: str, found: str, expected: str) -> Problem:
    shown = found if len(found) <= 40 else f"{found[:39]}…"
    return Problem(code="SIZE-002", what=what, where=where, found=repr(shown), expected=expected)


def _not_csv(where: str, why: str) -> Problem:
    return Problem(
        code="SIZE-004",
        what=f"this is not a CSV: {why}",
        where=where,
        expected='text with one run per line, cells separated by commas, quoted with "',
    )


def _left_out(num_wrong: int, told: list[Problem], name: str) -> Iterator[Problem]:
    """One line for the rows whose mistakes are not listed."""
    num_told = len({problem.where for problem in told})
    if num_wrong > num_told:
        more = plural(num_wrong - num_told, "more row")
        yield Problem(
            code="SIZE-002",
            what=f"{more} with mistakes",
            where=name,
            hint="nothing was left out and nothing computed: repair or remove these rows first",
        )
