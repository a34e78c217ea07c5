"""Small kernel files, read in one gulp: /proc, /sys and cgroups answer an `open` and a `read`.

Sampling happens every second on other people's cores, so the few microseconds that `pathlib` and text decoding add
per file are spared here.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Union

Place = Union[str, Path]
_GULP = 65536


def text(path: Place) -> str | None:
    """The file's content; None when it is absent or may not be read."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        parts = []
        while True:
            part = os.read(handle, _GULP)
            if not part:
                break
            parts.append(part)
        return b"".join(parts).decode("ascii", "replace")
    except OSError:
        return None
    finally:
        os.close(handle)


def number(path: Place) -> int | None:
    """The file's one number; None when it is absent or says `max`."""
    content = (text(path) or "").strip()
    return int(content) if content.isdecimal() else None


def table(path: Place) -> dict[str, int]:
    """Lines of `name number`; others are skipped."""
    found = {}
    for line in (text(path) or "").splitlines():
        name, _, value = line.partition(" ")
        if value.strip().isdecimal():
            found[name] = int(value)
    return found
