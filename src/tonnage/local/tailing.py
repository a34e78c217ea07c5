"""The end of a text file, without reading the rest."""

from __future__ import annotations

import os
from pathlib import Path

_BLOCK = 64 * 1024


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


def _lines(content: bytes) -> list[str]:
    return content.decode(errors="replace").splitlines()
