"""A text file that grows: its end without reading the rest, and what is new since the last look."""

from __future__ import annotations

import os
from pathlib import Path

_BLOCK = 64 * 1024
_NEW_BLOCK = 1024 * 1024


def last_lines(path: Path, count: int | None) -> list[str]:
    """The last lines of a file, all of them where no count is given; none where there is no file."""
    try:
        with path.open("rb") as file:
            if count is None:
                return _lines(file.read())
            end = file.seek(0, os.SEEK_END)
            content, start = b"", end
            while start > 0 and content.count(b"\n") <= count:
                step = min(_BLOCK, start)
                start -= step
                file.seek(start)
                content = file.read(step) + content
            return _lines(content)[-count:]
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
    if whole == 0 and not is_last:
        whole = len(content)  # one line larger than a block: in pieces rather than not at all
    elif is_last and to_the_end:
        whole = len(content)
    return _lines(content[:whole]), offset + whole


def _lines(content: bytes) -> list[str]:
    return content.decode(errors="replace").splitlines()
