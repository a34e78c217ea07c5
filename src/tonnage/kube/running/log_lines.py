"""Log lines with the times the runtime gave them, which is how one reads on from where one stopped. Pure."""

from __future__ import annotations

import calendar
import datetime as dt
import re
from collections.abc import Iterator
from typing import NamedTuple

_STAMP = re.compile(r"^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d) ?(.*)$", re.DOTALL)


class Stamped(NamedTuple):
    """One line."""

    when: int
    """Nanoseconds since 1970."""
    text: str


def lines_after(text: str, after: int) -> Iterator[Stamped]:
    """Lines that came after a moment; one without a time belongs to the line before it.

    >>> [line.text for line in lines_after("2026-01-01T00:00:00.5Z a\\n2026-01-01T00:00:01Z b", 1767225600500000000)]
    ['b']
    """
    last = after
    for raw in text.split("\n"):
        found = _STAMP.match(raw)
        if found is None:
            if raw and last > after:
                yield Stamped(last, raw)
            continue
        last = _nanoseconds(found)
        if last > after:
            yield Stamped(last, found[4].rstrip("\r"))


def written_second(nanoseconds: int) -> str:
    """The second a moment lies in, as the API takes it.

    >>> written_second(1767225600500000000)
    '2026-01-01T00:00:00Z'
    """
    return dt.datetime.fromtimestamp(nanoseconds // 10**9, dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _nanoseconds(found: re.Match[str]) -> int:
    moment = dt.datetime.fromisoformat(found[1] + found[3])
    whole = calendar.timegm(moment.utctimetuple())
    return whole * 10**9 + int((found[2] or "0").ljust(9, "0"))
