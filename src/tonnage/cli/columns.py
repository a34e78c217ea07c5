"""Aligned text for terminals and pipes: no boxes, no colour that means anything by itself.

Wide cells are cut to the terminal's width (80 where there is none), so that a table stays a table in a
split pane and in a log file.
"""

from __future__ import annotations

import os
import shutil
import textwrap
from collections.abc import Sequence

import click

from tonnage.reporting.text import one_line


def width() -> int:
    """Columns to write in: the terminal's, at most 160 and at least 40."""
    return max(40, min(160, shutil.get_terminal_size((80, 24)).columns))


def table(
    rows: Sequence[Sequence[str]], right: Sequence[int] = (), indent: int = 2, gap: int = 2
) -> list[str]:
    """Rows as aligned lines; columns named in `right` are set to the right, the last is cut to fit."""
    if not rows:
        return []
    sizes = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    room = width() - indent - sum(sizes[:-1]) - gap * (len(sizes) - 1)
    sizes[-1] = max(8, min(sizes[-1], room))
    lines: list[str] = []
    for row in rows:
        cells = [
            one_line(cell, size).rjust(size) if column in right else one_line(cell, size).ljust(size)
            for column, (cell, size) in enumerate(zip(row, sizes, strict=True))
        ]
        lines.append((" " * indent + (" " * gap).join(cells)).rstrip())
    return lines


def wrapped(text: str, room: int, indent: str = "") -> list[str]:
    """Text in lines of at most `room` columns; words, paths and addresses stay whole."""
    return textwrap.wrap(text, room, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def heading(text: str) -> str:
    return click.style(text, bold=True)


def mark(text: str, state: str) -> str:
    """A word with its state's colour; the word itself says the state too."""
    colours = {"good": "green", "warning": "yellow", "bad": "red", "quiet": "bright_black"}
    return click.style(text, fg=colours[state]) if "NO_COLOR" not in os.environ else text
