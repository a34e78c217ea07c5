"""The table of `tonnage ps`: only columns that say something, so that it fits where people look."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tonnage.cli.characters import fitting
from tonnage.cli.columns import table
from tonnage.figures import about_dollars, about_time
from tonnage.reporting.text import format_age

if TYPE_CHECKING:
    from tonnage.reporting.run import RunLine

HERE = "this machine"
_RIGHT = ("step", "left", "RAM", "attempt", "age", "spent")


def listed(lines: Sequence[RunLine], *, numbered: bool) -> list[str]:
    """The runs as a table; `numbered` where several may have the same name."""
    columns: list[tuple[str, Callable[[RunLine], str]]] = [
        ("run", lambda line: f"{line.name}#{line.id}" if numbered else line.name),
        ("where", lambda line: line.place if line.place != HERE else "here"),
        ("state", lambda line: line.state),
        ("step", lambda line: line.progress),
        ("left", lambda line: "-" if line.seconds_left is None else about_time(line.seconds_left)),
        ("RAM", lambda line: line.held),
        ("attempt", lambda line: str(line.attempt) if line.attempt > 1 else ""),
        ("age", lambda line: line.age),
        ("spent", lambda line: "-" if line.spent is None else about_dollars(line.spent)),
        ("", _remark),
    ]
    shown = [
        (name, cell) for name, cell in columns if name != "where" or any(one.place != HERE for one in lines)
    ]
    shown = [
        (name, cell)
        for name, cell in shown
        if name in ("run", "state", "step", "age", "where")
        or any(cell(one) not in ("-", "") for one in lines)
    ]
    rows = [tuple(name for name, _ in shown)] + [tuple(cell(line) for _, cell in shown) for line in lines]
    right = [index for index, (name, _) in enumerate(shown) if name in _RIGHT]
    return [fitting(line) for line in table(rows, right=right)]


def _remark(line: RunLine) -> str:
    """What its owner should know first."""
    if not line.is_supervised:
        return "nobody keeps it alive"
    if line.ended_seconds is not None and not line.why:
        return f"ended {format_age(dt.timedelta(seconds=line.ended_seconds))} ago"
    return line.why
