"""A text file that grows: its end without reading the rest, and what is new since the last look.

A program may print a gigabyte without a line end, or draw its progress bar over itself a million times. So the end of a
file is looked for backwards, in blocks, and no further than `_MOST_BYTES`; and of a line that was written over again
and again (by carriage returns) the newest state is the line, as it is on a terminal.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO

_BLOCK = 64 * 1024
_NEW_BLOCK = 1024 * 1024
_MOST_BYTES = 16 * 1024 * 1024


def last_lines(path: Path, count: int | None) -> list[str]:
    """The last lines of a file, all of them where no count is given; none where there is no file."""
    try:
        with path.open("rb") as file:
            if count is None:
                return _lines(file.read())
            return _lines(_end_of(file, count))[-count:]
    except OSError:
        return []


def lines_after(path: Path, offset: int, *, to_the_end: bool = False) -> tuple[list[str], int]:
    """Whole lines from a byte on, a block at a time, and where to go on; `to_the_end` takes a torn last line too."""
    try:
        with path.open("rb") as file:
            file.seek(offset)
            content = file.read(_NEW_BLOCK)
    except OSError:
        return [], offset
    is_last = len(content) < _NEW_BLOCK
    whole = content.rfind(b"\n") + 1
    if whole == 0:
        # A progress bar may never end its line: each of its states is whole. "\r\n" is not torn apart.
        whole = content.rfind(b"\r", 0, -1) + 1
    if whole == 0 and not is_last:
        whole = len(content)  # one line larger than a block: in pieces rather than not at all
    elif is_last and to_the_end:
        whole = len(content)
    return _lines(content[:whole]), offset + whole


def _end_of(file: BinaryIO, count: int) -> bytes:
    """So much of the end as holds `count` lines, or as anybody would read."""
    end = start = file.seek(0, os.SEEK_END)
    blocks: list[bytes] = []
    found = 0
    while start > 0 and found <= count and end - start < _MOST_BYTES:
        step = min(_BLOCK, start)
        start -= step
        file.seek(start)
        blocks.append(file.read(step))
        found += blocks[-1].count(b"\n")
    return b"".join(reversed(blocks))


def _lines(content: bytes) -> list[str]:
    """Text by lines; of one that was written over, what it showed last."""
    lines = content.replace(b"\r\n", b"\n").split(b"\n")
    if not lines[-1]:
        lines.pop()
    return [line.rstrip(b"\r").rpartition(b"\r")[2].decode(errors="replace") for line in lines]
