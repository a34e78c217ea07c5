"""A CSV of past runs is read whole, or told what is wrong with it, line by line."""

from __future__ import annotations

import pytest

from tonnage.errors import DocumentError
from tonnage.sizing.reading import read_tasks
from tonnage.sizing.task import Task

HEADER = "signature,start,end,requested_bytes,peak_bytes"


def read(*rows: str, header: str = HEADER) -> list[Task]:
    return read_tasks([f"{line}\n" for line in (header, *rows)], "tasks.csv")


def mistakes(*rows: str, header: str = HEADER) -> list[str]:
    with pytest.raises(DocumentError) as raised:
        read(*rows, header=header)
    return [f"{problem.where} {problem.what} {problem.code}" for problem in raised.value.problems]


def test_columns_may_stand_in_any_order_beside_others() -> None:
    assert read("9,1e9,x,7,2.5,a", header="end,peak_bytes,note,requested_bytes,start,signature") == [
        Task("a", 2.5, 9.0, 7.0, 1e9)
    ]


def test_empty_lines_and_a_byte_order_mark_are_no_mistakes() -> None:
    assert len(read("a,0,1,1,1", "", "a,1,2,1,1", header="\ufeff" + HEADER)) == 2


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ("a,now,1,1,1", "start is not a number"),
        ("a,0,,1,1", "end is not a number"),
        ("a,0,nan,1,1", "end is not a number"),
        ("a,0,1,4Gi,1", "requested_bytes is not a number"),
        ("a,0,1,1,inf", "peak_bytes is not a number"),
        ("a,5,1,1,1", "the run ends before it starts"),
        ("a,0,1,-4,1", "requested_bytes is not positive"),
        ("a,0,1,1,0", "peak_bytes is not positive"),
        (" ,0,1,1,1", "signature is empty"),
        ("a,0,1", "a row is too short"),
    ],
)
def test_an_impossible_row_is_told_with_its_line(row: str, told: str) -> None:
    assert mistakes("a,0,1,1,1", row) == [f"tasks.csv:3 {told} SIZE-002"]


def test_every_mistake_is_told_until_there_are_too_many() -> None:
    told = mistakes(*["a,0,1,1,0"] * 25)

    assert len(told) == 11
    assert told[-1] == "tasks.csv 15 more rows with mistakes SIZE-002"


def test_missing_columns_are_named() -> None:
    assert mistakes("a,0,1", header="signature,start,stop") == [
        "tasks.csv:1 columns end, requested_bytes, peak_bytes not found SIZE-001"
    ]


def test_a_column_that_stands_twice_is_refused() -> None:
    assert mistakes("a,0,1,1,1,2", header=f"{HEADER},end") == [
        "tasks.csv:1 column end stands in it more than once SIZE-001"
    ]


def test_a_header_alone_is_no_history_and_an_empty_file_has_no_columns() -> None:
    assert mistakes() == ["tasks.csv there is no run in it SIZE-003"]
    with pytest.raises(DocumentError, match="an empty file"):
        read_tasks([], "tasks.csv")


def test_a_broken_quote_is_told() -> None:
    assert "this is not a CSV" in mistakes('"a,0,1,1,1')[0]
